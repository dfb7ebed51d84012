import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// One user with an iPhone, an Android phone and a browser: each push service gets each notification once,
/// and none depends on another.
@Suite struct ServicesTests {
    @Test func aTurnReachesEachKindOfDeviceOnce() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.beginGame()
        try world.cycle()
        try world.move()
        try world.cycle()
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        for service in ["apns", "fcm", "web"] {
            #expect(world.outcomes(inQueue: service) == ["accepted"], "\(service)")
        }
        let android = try world.pushes(of: "fcm").first?["payload"]?.object
        let texts = android?["notification"]?.object
        let browser = try world.pushes(of: "web").first?["payload"]?.object?["notification"]?.object
        #expect(texts?["title"]?.string != nil)
        #expect(browser?["title"] == texts?["title"])
        #expect(browser?["navigate"]?.string?.hasSuffix("/game/7") == true)

        // No notice is repeated, and the next turn brings one new notice.
        try world.cycle()
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        try world.move()
        try world.move()
        try world.cycle()
        #expect(try world.accepted() == ["apns": 2, "fcm": 2, "web": 2])
        #expect(world.spooled().isEmpty)
        #expect(try world.simulator.report("ogs")["violations"]?.array?.isEmpty == true)
    }

    @Test func aMessageHasOneReportForAllServices() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let id = try world.sent([
            "users": ["1"], "title": "Lunch", "body": "At noon", "badge": "+1", "data": ["a": "b"],
        ])
        #expect(try world.report(id)["counts"] == ["waiting": 3])
        #expect(try world.run("deliver")["accepted"] == 3)
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        let report = try world.report(id)
        #expect(report["counts"] == ["accepted": 3], "\(report)")
        // The number is the same everywhere.
        let apns = try world.pushes(of: "apns").first?["payload"]?.object?["aps"]?.object
        let fcm = try world.pushes(of: "fcm").first?["payload"]?.object?["android"]?.object
        let web = try world.pushes(of: "web").first?["payload"]?.object
        #expect(apns?["badge"] == 1)
        #expect(fcm?["notification"]?.object?["notification_count"] == 1)
        #expect(web?["app_badge"] == 1)
    }

    @Test func aServiceThatRefusesUsStopsNoOther() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform(["do": "fcm-fault", "status": 403, "reason": "none"])
        let id = try world.sent(["users": ["1"], "title": "Lunch"])
        try world.run("deliver", exitCode: 111)
        #expect(try world.accepted() == ["apns": 1, "fcm": 0, "web": 1])
        #expect(try world.problems().contains("delivery stopped"))
        #expect(try world.report(id)["counts"] == ["accepted": 2, "waiting": 1])

        // It stays stopped for five minutes, and the others go on.
        try world.simulator.perform(["do": "clear"])
        _ = try world.sent(["users": ["1"], "title": "Dinner"])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 2, "fcm": 0, "web": 2])
        try world.advance(seconds: 301)
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 2, "fcm": 2, "web": 2])
        #expect(try world.problems() == [])
        #expect(world.spooled().isEmpty)
    }

    @Test("a GOAWAY on the first request of a run does not end it", arguments: ["apns", "fcm"])
    func firstGoAway(service: String) throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let goAway: JSONObject = ["do": "goaway", "service": .string(service), "after": 0]
        try world.simulator.perform(goAway)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        #expect(try world.problems() == [])
        #expect(world.spooled().isEmpty)
    }

    @Test("a browser's push lives as long as its message, by the clock of the run")
    func lifetime() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        _ = try world.sent(["users": ["1"], "title": "Lunch", "expires_in": 600])
        try world.run("deliver")
        let push = try world.simulator.report("web")["pushes"]?.array?.first?.object
        #expect(push?["headers"]?.object?["ttl"] == "600", "\(String(describing: push))")
    }

    @Test func apnsKeyRefusedLeavesTheOthersAlone() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform([
            "do": "apns-fault", "status": 403, "reason": "InvalidProviderToken",
        ])
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        try world.run("deliver", exitCode: 111)
        #expect(try world.accepted() == ["apns": 0, "fcm": 1, "web": 1])
        // Neither does a configuration that cannot be used.
        world.variables["APNS_KEY_ID"] = "no"
        _ = try world.sent(["users": ["1"], "title": "Dinner"])
        try world.run("deliver", exitCode: 100)
        #expect(try world.accepted() == ["apns": 0, "fcm": 2, "web": 2])
    }

    @Test func aTurnIsNewAgainOnlyIfNoServiceReachedThePlayer() throws {
        let world = try World.withAllServices()
        let browser = try world.registerAllKinds(of: 1)
        try world.beginGame()
        try world.cycle()
        // The iPhone and the Android phone refuse everything, the browser does not.
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "other-topic",
        ])
        let fault: JSONObject = ["do": "fcm-fault", "status": 400, "reason": "none"]
        try world.simulator.perform(fault)
        try world.move()
        try world.cycle()
        #expect(try world.accepted() == ["apns": 0, "fcm": 0, "web": 1])
        try world.advance(seconds: 86_400)
        try world.cycle()
        #expect(try world.accepted() == ["apns": 0, "fcm": 0, "web": 1], "told twice")

        // Now nothing reaches the player, until the Android phone works again.
        try world.simulator.perform([
            "do": "web-fault", "status": 400, "token": .string(browser),
        ])
        try world.move()
        try world.move()
        try world.cycle()
        #expect(try world.accepted() == ["apns": 0, "fcm": 0, "web": 1])
        // On a busy machine, a push service may answer so late that its part is put off.
        for _ in 0..<3 where world.spooled().contains(where: { $0.contains("/waiting/") }) {
            try world.advance(seconds: 1800)
            try world.run("deliver")
        }
        let unreached = try world.document(1)["unreached"]
        #expect(unreached == nil, "\(world.spooled())")
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: 3600)
        try world.cycle()
        #expect(try world.accepted() == ["apns": 0, "fcm": 1, "web": 2])
    }

    @Test func aBadgeIsTakenBackOnlyIfNoServiceReachedTheUser() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform(["do": "fcm-fault", "status": 400, "reason": "none"])
        _ = try world.sent(["users": ["1"], "title": "Lunch", "badge": "+1"])
        try world.run("deliver")
        #expect(try world.document(1)["badge"] == 1)

        try world.simulator.perform([
            "do": "apns-fault", "status": 400, "reason": "BadCollapseId",
        ])
        try world.simulator.perform(["do": "web-fault", "status": 400])
        _ = try world.sent(["users": ["1"], "title": "Dinner", "badge": "+1"])
        try world.run("deliver")
        #expect(try world.document(1)["badge"] == 1, "the message reached nobody")
    }

    @Test(
        "a message counts on the badge as long as unreadable receipts may say that it arrived",
        arguments: [false, true])
    func unreadableReceipts(areSetAside: Bool) throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try world.sent(["users": ["1"], "title": "Lunch", "badge": "+1", "expires_in": 60])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 0, "fcm": 1, "web": 1])
        for name in world.state.files().keys
        where name.hasPrefix("receipts/") && !name.contains("apns") {
            let path = "\(world.state.path)/\(name)"
            try #require(rename(path, "\(path).away") == 0 && symlink(path, path) == 0)
        }
        try world.advance(seconds: 61)
        if areSetAside {
            // The drainers of these queues set them aside.
            _ = try world.sent(["users": ["1"], "title": "Dinner"])
        }
        try world.run("deliver")
        #expect(world.outcomes(inQueue: "apns").contains("expired"))
        #expect(try world.document(1)["badge"] == 1)
    }

    @Test(
        "a clear ends a request that waits for a browser, though a browser cannot be sent a clear",
        arguments: [true, false], [true, false])
    func clearedForBrowsers(isHeld: Bool, isByName: Bool) throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let audience: JSONObject =
            isByName
            ? ["users": ["1"]] : ["devices": [.string(try world.browserToken(of: 1))]]
        if isHeld {
            try world.change("1") {
                $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(30)
            }
        } else {
            try world.simulator.perform(["do": "web-fault", "status": 503, "count": 1])
        }
        var request = audience
        request["title"] = "Approve?"
        request["subject"] = "approval 1"
        let first = try world.sent(request)
        try world.run("deliver")
        try world.advance(seconds: 60)
        var clear = audience
        clear["push_type"] = "background"
        clear["content_available"] = true
        clear["subject"] = "approval 1"
        let second = try world.sent(clear)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 2400)
        }
        #expect(try world.accepted()["web"] == 0)
        // The other devices' requests were held as well.
        let replaced = isHeld && isByName ? 3 : 1
        for (id, reason, count) in [(first, "newer", replaced), (second, "unsuitable", 1)] {
            let report = try world.report(id)
            #expect(report["state"] == "done")
            let devices = report["devices"]?.array?.compactMap(\.object) ?? []
            #expect(devices.filter { $0["reason"] == .string(reason) }.count == count, "\(report)")
        }
        #expect(world.spooled().isEmpty)
        // Where nothing waits, a browser is skipped.
        #expect(try world.report(world.sent(clear))["counts"]?.object?["skipped"] == 1)
    }

    @Test(
        "an alert without a text for browsers ends a request there at once, though the user is muted"
    )
    func endedForMutedBrowsers() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let end = Timestamp(milliseconds: world.now) + .minutes(30)
        try world.change("1") { $0.preferences.mutedUntil = end }
        let browser = JSONValue.string(try world.browserToken(of: 1))
        let first = try world.sent(["devices": [browser], "title": "Approve?", "subject": "a"])
        try world.run("deliver")
        let second = try world.sent(["devices": [browser], "loc_key": "DONE", "subject": "a"])
        try world.run("deliver")
        #expect(try world.report(second)["counts"] == ["superseded": 1])
        try world.advance(seconds: 2400)
        try world.run("deliver")
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.accepted()["web"] == 0)
    }

    @Test("a clear that is sent later ends a request that was accepted after it")
    func clearedLater() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let browser = JSONValue.string(try world.browserToken(of: 1))
        _ = try world.sent([
            "devices": [browser], "push_type": "background", "content_available": true,
            "collapse_id": "a", "send_after": .integer(world.now / 1000 + 300),
        ])
        try world.advance(seconds: 60)
        try world.simulator.perform(["do": "web-fault", "status": 503, "count": 1])
        let request = try world.sent(["devices": [browser], "title": "Old", "collapse_id": "a"])
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 1200)
        }
        #expect(try world.report(request)["counts"] == ["superseded": 1])
        #expect(try world.accepted()["web"] == 0)
    }

    @Test func deadDevicesAreRemoved() throws {
        let world = try World.withAllServices()
        let browser = try world.registerAllKinds(of: 1)
        try world.simulator.perform([
            "do": "fcm-token", "token": .string("\(World.androidToken)1"), "is": "gone",
        ])
        try world.simulator.perform(["do": "web-gone", "id": .string(browser)])
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        let summary = try world.run("deliver")
        #expect(summary["accepted"] == 1)
        #expect(summary["gone"] == 2)
        #expect(try world.document(1)["devices"]?.array?.count == 1)
    }

    @Test(
        "devices that are all gone alike stay until the service has accepted a push",
        arguments: ["fcm", "web"])
    func allGone(service: String) throws {
        let world = try World.withAllServices()
        let platform = service == "fcm" ? "android" : "web"
        for player in Int64(1)...20 {
            let browser = try world.registerAllKinds(of: player, Int(player))
            try world.simulator.perform(
                service == "web"
                    ? ["do": "web-gone", "id": .string(browser)]
                    : [
                        "do": "fcm-token", "token": .string("\(World.androidToken)\(player)"),
                        "is": "gone",
                    ])
        }
        func left() throws -> Int {
            try (Int64(1)...20).count { player in
                let devices = try world.document(player)["devices"]?.array ?? []
                return devices.contains { $0.object?["platform"] == .string(platform) }
            }
        }
        let users = (1...20).map { JSONValue.string("\($0)") }
        let id = try world.sent(["users": .array(users), "title": "Lunch"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 40, "gone": 20])
        #expect(try left() == 20)
        // Another user's device shows that the settings are right.
        try world.registerAllKinds(of: 21, 21)
        _ = try world.sent(["users": ["21"], "title": "Lunch"])
        try world.run("deliver")
        _ = try world.sent(["users": .array(users), "title": "Dinner"])
        try world.run("deliver")
        #expect(try left() == 0)
    }

    @Test func aLostAnswerRepeatsAMessageThatReplacesTheFirst() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform([
            "do": "fcm-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        try world.simulator.perform([
            "do": "web-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        _ = try world.sent(["users": ["1"], "title": "Lunch", "collapse_id": "lunch"])
        try world.run("deliver")
        try world.advance(seconds: 5)
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 2, "web": 2])
        let tags = try world.pushes(of: "fcm").map {
            $0["payload"]?.object?["android"]?.object?["notification"]?.object?["tag"]
        }
        #expect(tags == ["lunch", "lunch"])
        let topics = try world.pushes(of: "web").map { $0["headers"]?.object?["topic"] }
        #expect(topics.count == 2)
        #expect(topics.first == topics.last && topics.first != .some(nil))
        #expect(world.spooled().isEmpty)
    }

    /// The queue waits for its push service, also if the service is not configured any more.
    @Test func aServiceThatIsNoLongerConfiguredIsReported() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        world.hidden = ["FCM_SERVICE_ACCOUNT", "VAPID_SUBJECT"]
        try world.run("deliver", exitCode: 100)
        #expect(try world.accepted() == ["apns": 1, "fcm": 0, "web": 0])
        #expect(try world.problems().filter { $0 == "push service missing" }.count == 2)
        world.hidden = []
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        #expect(try world.problems() == [])
    }

    /// Held messages come out of the queue of their own push service. The merged text is not hidden by the newest
    /// one's own text for a service, and names that message by it.
    @Test func heldMessagesAreReleasedThroughTheirOwnService() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let end = Timestamp(milliseconds: world.now + 3_600_000)
        try world.change("1") { $0.preferences.mutedUntil = end }
        _ = try world.sent(["users": ["1"], "title": "One"])
        _ = try world.sent([
            "users": ["1"], "title": "Two", "android": ["notification": ["title": "Zwei"]],
            "web": ["title": "Deux"], "apns": ["aps": ["alert": ["title": "Dos"]]],
        ])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 0, "fcm": 0, "web": 0])
        try world.advance(seconds: 3700)
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        for (service, own) in [("apns", "Dos"), ("fcm", "Zwei"), ("web", "Deux")] {
            let text = JSON.text(try world.pushes(of: service).first?["payload"] ?? .null)
            let shown = String(decoding: text, as: UTF8.self)
            let title = #""title":"2 new notifications""#
            #expect(shown.contains(title) && shown.contains(#""body":"\#(own)\nOne""#), "\(shown)")
            // The release, and both messages that it brings.
            #expect(world.outcomes(inQueue: service).count { $0 == "accepted" } == 3, "\(service)")
        }
        #expect(world.spooled().isEmpty)
    }
}
