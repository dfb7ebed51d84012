import JSON
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// Many processes at once, and processes that are killed.
@Suite struct StormTests {
    /// Overlapping in waves, since a machine with two cores runs no more at a time anyway.
    @Test func aThousandProcessesMakeOneProviderToken() throws {
        let world = try World()
        try world.beginGame()
        for device in 1...20 { try world.register(token(device), of: 1) }
        try world.move()
        try world.advance(seconds: 31)
        var running: [RunningProgram] = []
        for number in 0..<1000 {
            running.append(try world.start(number % 2 == 0 ? "deliver" : "check-turns"))
            if running.count == 50 {
                for program in running { #expect(try program.end().exitCode == 0) }
                running = []
            }
        }
        try world.run("deliver")
        let report = try world.simulator.apns()
        #expect(report["provider_tokens"] == 1)
        #expect(report["accepted"] == 20)
        #expect(report["distinct_ids"] == 20)
        #expect(world.damagedDocuments().isEmpty)
    }

    /// Kills programs at moments that a fixed series of random numbers picks, and then lets the same
    /// work be done in peace.
    @Test func killedProgramsLoseNothing() throws {
        let world = try World()
        var dice = Dice(seed: 20_261_121)
        for game in Int64(1)...3 { try world.beginGame(game) }
        var registered: Set<String> = []
        try world.register(token(1), of: 1)
        registered.insert(token(1))

        for round in 0..<200 {
            switch round % 4 {
            case 0:
                let token = token(2 + round)
                let event = try world.event(
                    "POST", "/register", by: 1, world.registration(token, of: 1))
                let program = try world.start("register", event)
                if try kill(program, within: 6, &dice).output.isEmpty == false {
                    registered.insert(token)
                }
            case 1:
                try world.simulator.perform([
                    "do": "move", "player": 1, "game": .integer(Int64(round % 3 + 1)),
                ])
                try world.advance(seconds: 31)
                _ = try kill(world.start("check-turns"), within: 40, &dice)
            default:
                try world.advance(seconds: 2)
                _ = try kill(world.start("deliver"), within: 60, &dice)
            }
        }
        // Claims of killed cycles end with the interval, and waiting notifications become due.
        for _ in 0..<3 {
            try world.advance(seconds: 60)
            try world.cycle()
        }

        #expect(world.damagedDocuments().isEmpty)
        #expect(world.spooled().isEmpty)
        let devices = try world.document(1)["devices"]?.array ?? []
        let known = Set(devices.compactMap { $0.object?["token"]?.string })
        #expect(registered.isSubset(of: known))

        // Each device of a notice has one verdict: APNs accepted its id, or the turns went with another
        // notice, perhaps after a push whose answer was lost with the killed program.
        var promised: [String] = []
        var doubtful = 0
        for line in try world.receipts() where line["outcome"] != nil {
            if line["outcome"] == "superseded" {
                #expect(["answered", "newer"].contains(line["reason"]?.string), "\(line)")
                if line["in_doubt"] == true { doubtful += 1 }
                continue
            }
            #expect(line["outcome"] == "accepted")
            promised.append(line["apns_id"]?.string ?? "none")
        }
        #expect(Set(promised).count == promised.count)
        let accepted = Set(try world.acceptedIDs())
        #expect(accepted.isSuperset(of: promised))
        #expect(accepted.count <= promised.count + doubtful)
        // Whatever the games' last turns are, the ledger knows them.
        for game in Int64(1)...3 {
            let ledger = try world.document(1)["ledger"]?.array ?? []
            #expect(ledger.contains { $0.object?["game"] == .integer(game) })
        }
    }

    /// Lets a program go on for a random time, and kills it unless it has ended by then.
    private func kill(
        _ program: RunningProgram, within milliseconds: UInt64, _ dice: inout Dice
    ) throws -> EndedProgram {
        usleep(UInt32(dice.next(below: milliseconds * 1000)))
        program.send(SIGKILL)
        return try program.end()
    }
}

/// The same numbers in each run (SplitMix64).
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below limit: UInt64) -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return (value ^ (value >> 31)) % limit
    }
}
