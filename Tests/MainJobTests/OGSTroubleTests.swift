import JSON
import TestSupport
import Testing
import Turnstone

/// Faults of OGS, and the notices that must not be sent because of them.
@Suite struct OGSTroubleTests {
    @Test func anOddGameDoesNotHideTheOthers() throws {
        let world = try World()
        try world.beginGame(7, ["to_move": 1])
        try world.beginGame(8, ["to_move": 1, "json": ["phase": 5]])
        try world.register(token(1), of: 1)
        try world.cycle()
        let push = try #require(try world.simulator.pushes().first)
        #expect(push["payload"]?.object?["game_id"] == 7)
        #expect(push["payload"]?.object?["aps"]?.object?["badge"] == 1)
    }

    @Test(
        "no notice is sent during an outage, and the turn is sent after it",
        arguments: [
            ["do": "ogs-fault", "status": 500, "count": 1],
            ["do": "ogs-fault", "kind": "html", "count": 1],
            ["do": "ogs-fault", "kind": "cut", "count": 1],
            ["do": "ogs-fault", "kind": "missing", "member": "active_games", "count": 1],
            ["do": "ogs-fault", "kind": "drop", "count": 1],
        ] as [JSONObject])
    func outage(fault: JSONObject) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.simulator.perform(fault)
        let failed = try world.cycle()
        #expect(failed["failed"] == 1)
        #expect(try world.acceptedIDs().isEmpty)
        // The player alone could not be looked at, so the player alone waits: a minute.
        try world.advance(seconds: 60)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "health reports that OGS answers for no player it knew, until it does again",
        arguments: [404, 500])
    func noAnswers(status: Int64) throws {
        let world = try World()
        try world.beginGame()
        for player in Int64(1)...2 { try world.register(token(Int(player)), of: player) }
        // A player whom OGS never knew is nobody's fault.
        try world.register(token(3), of: 999)
        try world.cycle()
        #expect(try world.problems() == [])
        try world.simulator.perform(["do": "ogs-fault", "status": .integer(status)])
        for _ in 0..<12 { try world.cycle() }
        #expect(try world.problems().contains("no answers"))
        // An hour later at the latest all of them are looked at again, though it was so for a day.
        for _ in 0..<30 {
            try world.advance(seconds: 2400)
            try world.cycle()
        }
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: 3600)
        try world.cycle()
        #expect(try world.problems() == [])
        func notices() throws -> Int {
            try world.simulator.pushes().count {
                $0["payload"]?.object?["aps"]?.object?["alert"] != nil
            }
        }
        let told = try notices()
        try world.move()
        try world.cycle()
        #expect(try notices() == told + 1)
    }

    @Test("one request at a time asks OGS about a player, and none for long")
    func oneAtATime() throws {
        let world = try World()
        try world.beginGame()
        for player in Int64(1)...2 { try world.register(token(Int(player)), of: player) }
        let asked = try world.simulator.ogs()["requests"]?.integer ?? 0
        try world.simulator.perform(["do": "ogs-fault", "kind": "stall"])
        let checks = try (0..<6).map { number in
            let player = Int64(number % 2 + 1)
            return try world.start(
                "check", world.event("GET", "/check/\(player)", by: player))
        }
        for check in checks {
            #expect(try Answer(event: check.end().stdout).status == 503)
        }
        #expect(try world.simulator.ogs()["requests"]?.integer == asked + 2)
        // Nobody has to wait for a request that has ended.
        try world.simulator.perform(["do": "clear"])
        #expect(try world.ask("check", "GET", "/check/1", by: 1).status == 200)
    }

    @Test(
        "a pause that OGS did not ask for has a reason, with the address",
        arguments: [
            (["do": "ogs-fault", "status": 500], "Online-Go.com answered 500 at http"),
            (
                ["do": "ogs-fault", "kind": "html"],
                "Online-Go.com answered with an HTML page at http"
            ),
            (["do": "ogs-fault", "kind": "drop"], "Online-Go.com gave no usable answer at http"),
            (["do": "ogs-fault", "status": 429], nil),
        ] as [(JSONObject, String?)])
    func reasonOfAPause(fault: JSONObject, reason: String?) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform(fault)
        try world.cycle()
        let document = try JSON.parse(world.state.read("ogs.json") ?? []).object
        #expect(document?["until"] != nil)
        let stored = document?["reason"]?.string
        if let reason {
            #expect(stored?.hasPrefix(reason) == true, "\(stored ?? "none")")
        } else {
            #expect(stored == nil)
        }
        #expect(try world.problems().contains("Online-Go.com paused"))
    }

    @Test("OGS is not asked for as long as it requests", arguments: [429, 503])
    func backOff(status: Int64) throws {
        let world = try World()
        try world.beginGame()
        for player in Int64(1)...3 { try world.register(token(Int(player)), of: player) }
        try world.move()
        try world.simulator.perform([
            "do": "ogs-fault", "status": .integer(status), "retry_after": 100,
        ])
        try world.cycle()
        try world.simulator.perform(["do": "clear"])
        let asked = try world.simulator.ogs()["requests"]
        #expect(try world.cycle()["due"] == 0)
        #expect(try world.cycle()["due"] == 0)
        #expect(try world.simulator.ogs()["requests"] == asked)
        #expect(try world.acceptedIDs().isEmpty)
        let check = try world.ask("check", "GET", "/check/1", by: 1)
        #expect(check.status == 503)
        #expect(check.headers["retry-after"] == "30")
        try world.advance(seconds: 100)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test func withoutARequestToWaitTheBackOffDoubles() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform(["do": "ogs-fault", "status": 429])
        for seconds in [Int64(10), 20, 40] {
            try world.cycle()
            let note = try JSON.parse(#require(world.state.read("ogs.json"))).object
            #expect(note?["until"] == .integer(world.now + seconds * 1000))
            try world.advance(seconds: seconds)
        }
    }

    @Test func aSlowPlayerDelaysNobodyElse() throws {
        let world = try World()
        try world.beginGame()
        for player in Int64(1)...4 { try world.register(token(Int(player)), of: player) }
        try world.move()
        world.variables["CHECK_INTERVAL_SECONDS"] = "30"
        try world.simulator.perform(["do": "ogs-fault", "kind": "stall", "player": 3])
        try world.advance(seconds: 31)
        let check = try world.start("check-turns")
        // Its notice is there while the cycle still waits for player 3.
        var ready = false
        while !ready {
            ready = world.state.files().keys.contains { $0.hasPrefix("spool/apns/ready/") }
        }
        try world.simulator.perform(["do": "drop"])
        try world.simulator.perform(["do": "clear"])
        #expect(try check.end().exitCode == 0)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test func whatHasNotChangedIsNotSentAgain() throws {
        let world = try World()
        try world.simulator.perform(["do": "etags", "on": true])
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        let before = world.state.files()
        try world.cycle()
        #expect(try world.simulator.ogs()["unchanged"] == 1)
        let after = world.state.files()
        // The drainer's lock has its last sign of life.
        let changed = after.keys.filter { before[$0] != after[$0] && !$0.hasSuffix(".lock") }
            .sorted()
        #expect(
            changed.filter { !$0.hasPrefix("watch/") } == [
                "cycle.json", "ogs.pace", "players.index",
            ])
        #expect(changed.count { $0.hasPrefix("watch/") } == 1)
        try world.move()
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "every kind of waiting is judged as OGS means it",
        arguments: [
            ([:], true), (["speed": "live"], false), (["speed": "blitz"], false),
            (["system": "simple"], true), (["system": "none"], true),
            (["json": ["pause_control": ["weekend": true]]], false),
            (["json": ["pause_control": ["vacation-2": true]]], false),
            (["json": ["phase": "finished"]], false),
            (["json": ["private": true]], true), (["json": ["handicap": 4]], true),
            (
                [
                    "json": [
                        "clock": [
                            "expiration": .number(1.7954e12),
                            "last_move": .number(1_795_262_399_999.5),
                        ]
                    ]
                ], true
            ),
            (["json": ["clock": .null]], false), (["without": ["moves"]], true),
        ] as [(JSONObject, Bool)])
    func kinds(game: JSONObject, isNotified: Bool) throws {
        let world = try World()
        var game = game
        game["to_move"] = 1
        try world.beginGame(7, game)
        try world.register(token(1), of: 1)
        try world.cycle()
        #expect(try world.acceptedIDs().count == (isNotified ? 1 : 0))
    }

    @Test func stoneRemovalIsToldToBothPlayers() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.register(token(2), of: 2)
        try world.simulator.perform(["do": "pass", "game": 7])
        try world.cycle()
        #expect(
            try Set(world.simulator.pushes().map { $0["token"]?.string }) == [token(1), token(2)])
    }
}
