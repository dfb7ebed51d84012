import JSON
import TestSupport
import Testing
import Turnstone

// Messages that are held for devices of several push services, on which they show different things.
extension HeldTests {
    private func mutedPlayer() throws -> World {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("1") { $0.preferences.mutedUntil = end }
        return world
    }

    private func sendToPlayer(_ world: World, _ more: JSONObject) throws {
        var body = more
        body["users"] = ["1"]
        _ = try world.sent(body)
        try world.run("deliver")
    }

    @Test(
        "a message with a text for Android alone reaches a muted user's iPhone silently and at once"
    )
    func silentOnOneService() throws {
        let world = try mutedPlayer()
        try sendToPlayer(world, ["title": "Taxi is here"])
        let silent: JSONObject = [
            "content_available": true, "data": ["a": 1],
            "android": ["notification": ["title": "Android"]],
        ]
        try sendToPlayer(world, silent)
        let atOnce = try payloads(world)
        #expect(atOnce.map { $0["aps"]?.object?["content-available"] } == [1])
        #expect(try world.pushes(of: "fcm").isEmpty)
        try goOn(world, minutes: 61)
        let alerts = try payloads(world).compactMap {
            $0["aps"]?.object?["alert"]?.object?["title"]
        }
        #expect(alerts == ["Taxi is here"])
        #expect(try world.pushes(of: "fcm").count == 1)
        #expect(world.outcomes(inQueue: "apns").contains("refused") == false)
        #expect(isEmpty(world))
    }

    @Test(
        "a message that is too large for a service does not take the others with it",
        arguments: [
            [
                "data": [
                    "url": .string("https://example.org/" + String(repeating: "u", count: 2000))
                ]
            ],
            ["data": ["a": .string(String(repeating: "x", count: 3950))]],
            ["data": ["a": .string(String(repeating: "é\"", count: 900))]],
            ["web": ["data": .string(String(repeating: "x", count: 4060))]],
            ["android": ["data": ["k": .string(String(repeating: "x", count: 4060))]]],
            ["thread_id": .string(String(repeating: "t", count: 3900))],
            ["category": .string(String(repeating: "c", count: 3900))],
            ["sound": .string(String(repeating: "s", count: 3900))],
        ] as [JSONObject])
    func oneIsTooLarge(members: JSONObject) throws {
        let world = try mutedPlayer()
        var ids = [try world.sent(["users": ["1"], "title": "Small"])]
        var large = members
        large["users"] = ["1"]
        large["title"] = "Large"
        large["badge"] = "+1"
        ids.append(try world.sent(large))
        try world.run("deliver")
        try goOn(world, minutes: 61)
        let name = members.members[0].name
        for id in ids {
            let report = try world.report(id)
            #expect(report["counts"] == ["accepted": 3], "\(name): \(report)")
        }
        for service in ["fcm", "web"] { #expect(try world.pushes(of: service).count == 1) }
        let shown = try #require(try payloads(world).last)
        #expect(shown["aps"]?.object?["alert"]?.object?["title"] == "2 new notifications")
        #expect(shown["aps"]?.object?["badge"] == 1)
        // What is too large for another service stays.
        if members["thread_id"] != nil {
            #expect(shown["aps"]?.object?["thread-id"] == members["thread_id"])
        }
        #expect(isEmpty(world))
    }

    @Test("more than a hundred messages held on several services each count once in the badge")
    func manyBadges() throws {
        let world = try mutedPlayer()
        let count = 130
        for _ in 0..<count {
            _ = try world.sent(["users": ["1"], "title": "A", "badge": "+1"])
        }
        try goOn(world, minutes: 61)
        for _ in 0..<3 { try goOn(world, minutes: 1) }
        var badge: Int64?
        try world.change("1") { badge = $0.badge }
        #expect(badge == Int64(count))
        #expect(isEmpty(world))
        // The document forgets ended messages once it has many.
        for _ in 0..<count {
            _ = try world.sent(["users": ["1"], "title": "B", "badge": "+1"])
            try world.run("deliver")
        }
        var known = 0
        try world.change("1") {
            badge = $0.badge
            known = $0.badgeMessages.ids.count
        }
        #expect(badge == Int64(2 * count) && known < 2 * count)
    }
}
