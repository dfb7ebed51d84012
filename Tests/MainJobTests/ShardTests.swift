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
        }
        #expect(try world.accepted() == ["apns": 12, "fcm": 12, "web": 12])
        #expect(world.spooled().isEmpty)
        #expect(try world.problems() == [])
    }
}
