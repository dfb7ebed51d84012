import Documents
import Store
import TestSupport
import Testing
import Turnstone

/// How often players are looked at, whatever the timer, OGS and other players do.
@Suite struct CadenceTests {
    private func asked(_ world: World, _ player: Int64) throws -> Int64 {
        let players = try world.simulator.ogs()["players"]?.object
        return players?["\(player)"]?.integer ?? 0
    }

    @Test(
        "with a timer of 30 s that is 2 s early or late and with long cycles, each cycle finds players due"
    )
    func jitter() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        let start = world.now
        for (slot, offset) in ([0, 2, -2, 1, -1, 0, -2, 2, 2, -2, 2, -2] as [Int64]).enumerated() {
            try world.advance(seconds: (start - world.now) / 1000 + 30 * Int64(slot) + offset)
            #expect(try world.run("check-turns")["looked"] == 1, "slot \(slot)")
            #expect(try world.run("check-turns")["due"] == 0, "slot \(slot)")
            // As if the player had been the last one of a slow cycle.
            try delay(world, lookBy: 25)
        }
    }

    /// Moves the moment at which the only player was looked at.
    private func delay(_ world: World, lookBy seconds: Int64) throws {
        let moment = Timestamp(milliseconds: world.now + seconds * 1000)
        try world.openState().watch.update(PlayerID(number: 1)!) {
            $0.recordUnchanged(lookBegan: moment)
        }
    }

    @Test(
        "300 players whom OGS does not know do not keep others from being looked at in every cycle")
    func unknownPlayers() throws {
        let world = try World()
        for player in Int64(1)...5 {
            try world.simulator.perform(["do": "player", "player": .integer(player)])
            try world.register(token(Int(player)), of: player)
        }
        for player in 1001...1300 {
            let shard = DocumentName(hashOf: "\(player)").shard!
            try world.state.write("", to: "watch/\(shard)/\(player)")
        }
        for cycle in Int64(1)...8 {
            let summary = try world.cycle()
            for player in Int64(1)...5 { #expect(try asked(world, player) == cycle) }
            #expect(summary["looked"] == 5 && summary["put_off"] == 0, "cycle \(cycle)")
        }
        // At 31, 93, 217 and so on: a minute, two, four.
        #expect(try asked(world, 1001) == 3)
    }

    @Test(
        "a player whom OGS does not know gets that answer without asking again, until the app registers",
        arguments: ["/diagnostics/9", "/check/9"])
    func unknownPlayer(path: String) throws {
        let world = try World()
        let program = path == "/check/9" ? "check" : "diagnostics"
        try world.register(token(9), of: 9)
        #expect(try world.cycle()["failed"] == 1)
        #expect(try asked(world, 9) == 1)
        let answer = try world.ask(program, "GET", path, by: 9)
        #expect(answer.status == 404)
        let sentence = """
            Online-Go.com does not know player 9; check the number. It is asked again after 2026-11-21T12:01:31Z, or when \
            the app registers again
            """
        #expect(answer.json?.object?["error"] == .string(sentence))
        #expect(try asked(world, 9) == 1)
        // An outage of OGS makes no difference to that.
        try world.simulator.perform(["do": "ogs-fault", "status": 503, "count": 1])
        try world.register(token(8), of: 8)
        try world.cycle()
        #expect(try world.ask(program, "GET", path, by: 9).status == 404)
        try world.simulator.perform(["do": "player", "player": 9])
        try world.register(token(9), of: 9)
        try world.advance(seconds: 60)
        #expect(try world.ask(program, "GET", path, by: 9).status == 200)
        #expect(try asked(world, 9) == 2)
        try world.advance(seconds: 31)
        #expect(try world.run("check-turns")["looked"] == 1)
    }

    @Test("OGS that fails for a few players it failed for before is not taken for an outage")
    func failingPlayers() throws {
        let world = try World()
        for player in Int64(1)...6 {
            try world.simulator.perform(["do": "player", "player": .integer(player)])
            try world.register(token(Int(player)), of: player)
            let fault: JSONObject = [
                "do": "ogs-fault", "status": 500, "player": .integer(player),
            ]
            if player < 6 { try world.simulator.perform(fault) }
        }
        #expect(try world.cycle()["looked"] == 1)
        let before = try asked(world, 6)
        for cycle in Int64(1)...6 {
            #expect(try world.cycle()["looked"] == 1)
            #expect(try asked(world, 6) == before + cycle)
        }
    }
}
