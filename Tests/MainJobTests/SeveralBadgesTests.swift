import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// A message "+1" to several users counts on the badges of those whom it reached, and on no other.
@Suite struct SeveralBadgesTests {
    /// A world in which pushes to both users' first devices were accepted before.
    private func world(_ options: [String] = []) throws -> World {
        let world = try World(options)
        try world.give("ann", devices: [1])
        try world.give("bob", devices: [2])
        _ = try world.sent(["users": ["ann", "bob"], "title": "Before"])
        try world.run("deliver")
        return world
    }

    private func badges(_ world: World) throws -> [String: Int64] {
        var badges: [String: Int64] = [:]
        for user in ["ann", "bob"] {
            var event = world.message("GET", "/api/badge").object ?? [:]
            event["query"] = .string("userId=\(user)")
            let answer = try Answer(
                event: world.startBackend("badge", .object(event)).end().stdout)
            badges[user] = answer.json?.object?["badge"]?.integer
        }
        return badges
    }

    private func delay(_ number: Int, in world: World) throws {
        try world.simulator.perform([
            "do": "apns-fault", "status": 429, "count": 1, "token": .string(token(number)),
        ])
    }

    @Test(
        "a user whose push was put off and not sent any more",
        arguments: ["called off", "expired", "unwanted", "unregistered"])
    func putOff(how: String) throws {
        let world = try world()
        try delay(2, in: world)
        let id = try world.sent([
            "users": ["ann", "bob"], "title": "One", "badge": "+1", "kind": "chat",
            "expires_in": 600,
        ])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1, "waiting": 1])
        switch how {
        case "called off": _ = try world.callOff(id)
        case "unwanted": try world.change("bob") { $0.preferences.kinds = ["chat": false] }
        case "unregistered": try world.unbind(2, from: "bob")
        default: try world.advance(seconds: 600)
        }
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try badges(world) == ["ann": 1, "bob": 0])
    }

    @Test("a user whose device is gone while another user's push is put off, before that one ends")
    func gone() throws {
        let world = try world()
        try delay(1, in: world)
        try world.simulator.perform([
            "do": "token", "token": .string(token(2)), "is": "other-topic",
        ])
        let id = try world.sent(["everyone": true, "title": "One", "badge": "+1"])
        try world.run("deliver")
        #expect(try badges(world) == ["ann": 1, "bob": 0])
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1, "refused": 1])
        #expect(try badges(world) == ["ann": 1, "bob": 0])
    }

    @Test(
        "a user who got it on one device of two keeps it, and one whose push may have arrived too")
    func kept() throws {
        let world = try world()
        try world.give("ann", devices: [3])
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
            "token": .string(token(2)),
        ])
        try delay(3, in: world)
        let id = try world.sent(["users": ["ann", "bob"], "title": "One", "badge": "+1"])
        try world.killDrainer(afterPushes: 4)
        _ = try world.callOff(id)
        try world.unbind(2, from: "bob")
        try world.advance(seconds: 61)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try badges(world) == ["ann": 1, "bob": 1])
    }

    @Test("a held message that its release brings to no device")
    func released() throws {
        let world = try world()
        let end = Timestamp(milliseconds: world.now) + .minutes(5)
        try world.change("bob") { $0.preferences.mutedUntil = end }
        _ = try world.sent(["users": ["ann", "bob"], "title": "One", "badge": "+1"])
        try world.run("deliver")
        try world.simulator.perform([
            "do": "token", "token": .string(token(2)), "is": "other-topic",
        ])
        try world.advance(seconds: 600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try badges(world) == ["ann": 1, "bob": 0])
    }

    @Test("what one queue takes back shows on the devices of another in the same run")
    func otherQueue() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        _ = try world.sent(["users": ["1"], "title": "Before"])
        try world.run("deliver")
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try world.sent([
            "filters": [["field": "platform", "relation": "=", "value": "ios"]], "title": "One",
            "badge": "+1", "expires_in": 60,
        ])
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.accepted()["fcm"] == 2)
        #expect(world.spooled().isEmpty)
    }
}
