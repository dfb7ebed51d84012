import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// Several queues for each push service (`TURNSTONE_SHARDS`), with a drainer each.
@Suite struct ShardTests {
    /// The queues in which notifications wait.
    private func queues(_ world: World) -> Set<String> {
        Set(world.spooled().map { String($0.split(separator: "/")[1]) })
    }

    @Test("many drainers share the work and one token of each kind, and the report is whole")
    func shared() throws {
        let world = try World.withAllServices()
        let players = (1...12).map(Int64.init)
        for player in players { try world.registerAllKinds(of: player, Int(player)) }
        world.variables["TURNSTONE_SHARDS"] = "16"
        let id = try world.sent([
            "users": .array(players.map { .string("\($0)") }), "title": "Lunch", "badge": "+1",
        ])
        #expect(queues(world).count > 15 && queues(world).allSatisfy { $0.hasSuffix("of16") })
        #expect(try world.report(id)["counts"] == ["waiting": 36])
        #expect(try world.run("deliver")["accepted"] == 36)
        #expect(try world.accepted() == ["apns": 12, "fcm": 12, "web": 12])
        let report = try world.report(id)
        #expect(report["state"] == "done" && report["counts"] == ["accepted": 36])
        #expect(try world.simulator.report("fcm")["oauth_requests"] == 1)
        #expect(try world.simulator.report("web")["vapid_tokens"] == 1)
        for player in players { #expect(try world.document(player)["badge"] == 1) }
        #expect(world.spooled().isEmpty)
        #expect(try world.problems() == [])
    }

    @Test("a drainer that was started for another number of queues is not misconfigured")
    func startedBefore() throws {
        let world = try World()
        world.variables["TURNSTONE_SHARDS"] = "2"
        for (name, code) in [("apns-3of3", 111), ("apns-2of2", 0), ("apns-2", 0), ("apns-3", 100)] {
            world.variables["TURNSTONE_QUEUE"] = name
            #expect(try world.start("deliver").end().exitCode == Int32(code), "\(name)")
        }
    }

    @Test("a push that is repeated after the number has changed says so in its receipt")
    func repeated() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try world.sent(["users": ["ann"], "title": "Lunch"])
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
        ])
        let drainer = try world.start("deliver")
        #expect(try world.simulator.waitForPushes(1))
        drainer.send(SIGKILL)
        _ = try drainer.end()
        world.variables["TURNSTONE_SHARDS"] = "2"
        try world.advance(seconds: 60)
        try world.run("deliver")
        let accepted = try world.receipts().filter { $0["outcome"] == "accepted" }
        #expect(accepted.map { $0["repeat"] } == [true], "\(accepted)")
    }

    @Test("what waits when the number changes is sent once, cancelled, held and reported as before")
    func changed() throws {
        let world = try World.withAllServices()
        let players = (1...6).map(Int64.init)
        for player in players { try world.registerAllKinds(of: player, Int(player)) }
        let users = JSONValue.array(players.map { .string("\($0)") })
        world.variables["TURNSTONE_SHARDS"] = "2"
        // The services are too busy for a part of it.
        for service in ["apns", "fcm", "web"] {
            try world.simulator.perform([
                "do": .string("\(service)-fault"), "status": 503, "every": 2, "count": 3,
            ])
        }
        let busy = try world.sent(["users": users, "title": "Lunch", "collapse_id": "meal"])
        try world.run("deliver")
        let first = try world.report(busy)["counts"]
        #expect(first == ["accepted": 9, "waiting": 9], "\(String(describing: first))")
        let later: JSONValue = .integer(world.now / 1000 + 3600)
        let scheduled = try world.sent(["users": users, "title": "Tea", "send_after": later])
        let cancelled = try world.sent(["users": users, "title": "No", "send_after": later])
        #expect((200...202).contains(try world.callOff(cancelled).status))

        world.variables["TURNSTONE_SHARDS"] = "3"
        try world.run("deliver")
        #expect(queues(world).allSatisfy { $0.hasSuffix("of3") }, "\(queues(world))")
        #expect(try world.report(busy)["counts"] == first)
        #expect(try world.report(scheduled)["counts"] == ["waiting": 18])
        #expect(try world.report(cancelled)["counts"] == ["cancelled": 18])
        world.variables["TURNSTONE_SHARDS"] = nil
        try world.advance(seconds: 3700)
        for _ in 0..<3 { try world.run("deliver") }
        for id in [busy, scheduled] {
            let report = try world.report(id)
            #expect(report["state"] == "done" && report["counts"] == ["accepted": 18])
            let reasons = report["devices"]?.array?.compactMap { $0.object?["reason"] }
            #expect(reasons == [], "of an attempt in a former queue")
        }
        #expect(try world.accepted() == ["apns": 12, "fcm": 12, "web": 12])
        #expect(world.spooled().isEmpty)
        #expect(try world.problems() == [])
    }

    @Test("an older message does not follow a newer one out of several former queues")
    func order() throws {
        let world = try World()
        let users = (1...12).map { "user-\($0)" }
        for (number, user) in users.enumerated() { try world.give(user, devices: [number]) }
        let everybody = JSONValue.array(users.map { .string($0) })
        world.variables["TURNSTONE_SHARDS"] = "3"
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 12])
        let old = try world.sent(["users": everybody, "title": "old", "collapse_id": "c"])
        try world.run("deliver")
        _ = try world.sent(["users": everybody, "title": "new", "collapse_id": "c"])
        #expect(try world.run("deliver")["accepted"] == 12)
        world.variables["TURNSTONE_SHARDS"] = "2"
        for _ in 0..<3 {
            try world.advance(seconds: 2_000)
            try world.run("deliver")
        }
        #expect(try world.acceptedIDs().count == 12)
        #expect(try world.report(old)["counts"] == ["superseded": 12])
    }

    @Test(
        "an erased user is nowhere, in no queue's receipts",
        arguments: [("2", "2"), ("2", "3"), ("2", "1"), ("1", "2")],
        ["the-erased", "the\u{7f}erased", "the\u{2028}erased"])
    func erased(numbers: (before: String, after: String), user: String) throws {
        let world = try World()
        try world.give(user, devices: [1])
        try world.give("bob", devices: [2])
        world.variables["TURNSTONE_SHARDS"] = numbers.before
        _ = try world.sent(["users": [.string(user), "bob"], "title": "x"])
        #expect(try world.run("deliver")["accepted"] == 2)
        world.variables["TURNSTONE_SHARDS"] = numbers.after
        let path = "/api/users/\(percentEncoded(user))"
        let answer = try Answer(
            event: world.startBackend("users", world.message("DELETE", path)).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
        for (name, bytes) in world.state.files() {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("erased"), "\(name)")
        }
    }

    @Test("what cannot be moved out of a former queue stops nobody else")
    func obstacle() throws {
        let world = try World()
        try world.give("ann", devices: [1])
        world.variables["TURNSTONE_SHARDS"] = "2"
        let later: JSONValue = .integer(world.now / 1000 + 600)
        let first = try world.sent(["users": ["ann"], "title": "x", "send_after": later])
        try world.state.write("", to: "spool/apns.moving/in the way")
        world.variables["TURNSTONE_SHARDS"] = "3"
        _ = try world.sent(["users": ["ann"], "title": "y"])
        #expect(try world.run("deliver")["accepted"] == 1)
        #expect(try !world.problems().isEmpty)
        try world.state.remove("spool/apns.moving")
        try world.advance(seconds: 700)
        #expect(try world.run("deliver")["accepted"] == 1)
        #expect(try world.report(first)["counts"] == ["accepted": 1])
    }

    @Test("drainers of a clock that stands still end, whatever is throttled")
    func frozen() throws {
        let world = try World.withAllServices()
        for player in [1, 2] { try world.registerAllKinds(of: Int64(player), player) }
        let later: JSONValue = .integer(world.now / 1000 + 60)
        _ = try world.sent([
            "users": ["1", "2"], "title": "x", "throttle_per_minute": 1, "send_after": later,
        ])
        try world.advance(seconds: 90)
        _ = try world.sent(["users": ["1"], "title": "y"])
        try world.run("deliver")
        #expect(try world.accepted().values.reduce(0, +) >= 3)
    }

    /// As a path has it.
    private func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte == UInt8(ascii: "-") || (97...122).contains(byte)
            let digits = Array("0123456789ABCDEF")
            return isPlain
                ? String(UnicodeScalar(byte))
                : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }.joined()
    }
}
