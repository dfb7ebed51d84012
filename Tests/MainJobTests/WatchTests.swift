import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Who is looked at: the marks in `watch/`, which registrations make, and the one looker's index of them.
@Suite struct WatchTests {
    private func asked(_ world: World) throws -> [Int64: Int64] {
        var asked: [Int64: Int64] = [:]
        for member in try world.simulator.ogs()["players"]?.object?.members ?? [] {
            asked[Int64(member.name)!] = member.value.integer
        }
        return asked
    }

    private func world(_ players: ClosedRange<Int64>) throws -> World {
        let world = try World()
        world.variables["OGS_REQUESTS_PER_SECOND"] = "1000000"
        for player in players {
            try world.simulator.perform(["do": "player", "player": .integer(player)])
        }
        return world
    }

    @Test("a registration changes no file of another player's, nor one that players share")
    func ownFiles() throws {
        let world = try world(1...2)
        try world.register(token(1), of: 1)
        #expect(try world.cycle()["looked"] == 1)
        // Makes the second player's key first.
        #expect(try world.ask("check", "GET", "/check/2", by: 2).status == 200)
        for _ in 1...2 {
            let before = world.state.files()
            try world.register(token(2), of: 2)
            let after = world.state.files()
            let changed = before.keys.filter {
                before[$0] != after[$0] && !$0.hasSuffix("/2.json") && !$0.hasSuffix(".lock")
            }
            let isOwn = changed.allSatisfy { $0.hasPrefix("keys/") || $0.hasPrefix("tokens/") }
            #expect(isOwn, "\(changed)")
        }
        #expect(try world.cycle()["looked"] == 2)
    }

    @Test(
        "players who register in a crowd, also while cycles run, are all looked at in the next one",
        arguments: 1...3)
    func crowd(round: Int) throws {
        let world = try world(1...24)
        let requests = try (1...24 as ClosedRange<Int64>).map {
            try world.event(
                "POST", "/register", by: $0, world.registration(token(Int($0)), of: $0))
        }
        var running: [RunningProgram] = []
        for (number, request) in requests.enumerated() {
            running.append(try world.start("register", request))
            if number % 8 == 3 { running.append(try world.start("check-turns")) }
        }
        for program in running {
            let ended = try program.end(timeLimit: 30)
            #expect(ended.exitCode == 0, "\(ended.stderr)")
        }
        let before = try asked(world)
        // Nobody was looked at twice in a slot.
        #expect(before.values.allSatisfy { $0 == 1 }, "\(before)")
        #expect(try world.cycle()["looked"] == 24)
        let after = try asked(world)
        for player in 1...24 as ClosedRange<Int64> {
            #expect(after[player] == (before[player] ?? 0) + 1, "\(player)")
        }
    }

    @Test(
        "whoever was told of a registration is looked at, whatever registrations and cycles are killed"
    )
    func kills() throws {
        let world = try world(1...40)
        for player in 1...40 as ClosedRange<Int64> {
            _ = try world.event("POST", "/register", by: player)
        }
        var promised: Set<Int64> = []
        let start = Date()
        try world.register(token(1), of: 1)
        let whole = UInt32(Date().timeIntervalSince(start) * 1_000_000) + 1
        // Grows until a registration is answered, so that some are killed on a busy machine too.
        var pause: UInt32 = 0
        for player in 2...40 as ClosedRange<Int64> {
            let request = try world.event(
                "POST", "/register", by: player, world.registration(token(Int(player)), of: player))
            let registration = try world.start("register", request)
            let cycle = player % 3 == 0 ? try world.start("check-turns") : nil
            usleep(pause)
            registration.send(SIGKILL)
            cycle?.send(SIGKILL)
            if try registration.end().stdout.contains(#""statusCode":200"#) {
                promised.insert(player)
                pause = 0
            } else {
                pause += whole / 8
            }
            _ = try cycle?.end()
        }
        #expect(!promised.isEmpty && promised.count < 39, "\(promised.count)")
        let before = try asked(world)
        try world.cycle()
        let after = try asked(world)
        for player in promised {
            #expect(after[player] ?? 0 == (before[player] ?? 0) + 1, "\(player)")
        }
        #expect(world.damagedDocuments().isEmpty)
    }

    @Test("four cycles at once ask once about each player")
    func severalCycles() throws {
        let world = try world(1...30)
        for player in 1...30 as ClosedRange<Int64> {
            try world.register(token(Int(player)), of: player)
        }
        for slot in 1...3 as ClosedRange<Int64> {
            try world.advance(seconds: 30)
            let cycles = try (1...4).map { _ in try world.start("check-turns") }
            for cycle in cycles { #expect(try cycle.end(timeLimit: 30).exitCode == 0) }
            #expect(try asked(world).values.allSatisfy { $0 == slot })
        }
    }

    @Test("an index of the first version, and none, are no reason to look late or twice")
    func lostIndex() throws {
        let world = try world(1...3)
        for player in 1...3 as ClosedRange<Int64> {
            try world.register(token(Int(player)), of: player)
        }
        #expect(try world.cycle()["looked"] == 3)
        for index in ["", "TSPLAYR1" + String(repeating: "\0", count: 120), "TSPLAYR2", nil] {
            if let index {
                try world.state.write(index, to: "players.index")
            } else {
                unlink("\(world.state.path)/players.index")
            }
            #expect(try world.run("check-turns")["due"] == 0)
            try FileManager.default.removeItem(atPath: "\(world.state.path)/players.index")
            #expect(try world.cycle()["looked"] == 3)
        }
    }
}
