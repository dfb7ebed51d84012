import TestSupport
import Testing

/// `kill -9` before each system call of a program, and then undisturbed runs.
@Suite(.enabled(if: Fault.isPossible, "strace is not installed"))
struct KillTests {
    @Test("a drainer killed at any system call loses nothing and sends nothing twice that it noted")
    func killDeliver() throws {
        let ground = try Ground(players: 3, devices: 2, .queued)
        try killAtEachCall(ground, "deliver", Row("`kill -9` at each system call of `deliver`"))
    }

    @Test("a cycle killed at any system call loses no turn and sends none twice")
    func killCheckTurns() throws {
        let ground = try Ground(players: 3, devices: 2, .registered)
        try killAtEachCall(
            ground, "check-turns", Row("`kill -9` at each system call of `check-turns`"))
    }

    @Test(
        "a registration killed at any system call holds if it was answered, and can be made again")
    func killRegister() throws {
        let ground = try Ground(players: 2, devices: 1, .registered, hasNewcomer: true)
        try killAtEachCall(ground, "register", Row("`kill -9` at each system call of `register`"))
    }

    @Test("a drainer that takes over from a killed one, and is killed at any system call itself")
    func killTakeover() throws {
        let ground = try Ground(players: 3, devices: 2, .queued)
        let row = Row("`kill -9` at each system call of the `deliver` after a killed one")
        try killAtEachCall(ground, "deliver", row, .killedDrainer)
    }

    @Test("a drainer killed while it puts off what the gateway was too busy for")
    func killPuttingOff() throws {
        let ground = try Ground(players: 3, devices: 2, .queued)
        let row = Row("`kill -9` at each system call of a `deliver` that gets 503 for half")
        try killAtEachCall(ground, "deliver", row, .busyGateway)
    }

    @Test("a drainer killed while it delivers what has waited")
    func killAfterWaiting() throws {
        let ground = try Ground(players: 3, devices: 2, .queued)
        let row = Row(
            "`kill -9` at each system call of the `deliver` after one that got 503 for half")
        try killAtEachCall(ground, "deliver", row, .waited)
    }

    @Test("a drainer killed while it releases what was held for quiet hours")
    func killReleasing() throws {
        let ground = try Ground(players: 3, devices: 2, .held)
        let row = Row("`kill -9` at each system call of the `deliver` that releases held messages")
        try killAtEachCall(ground, "deliver", row)
    }

    private func killAtEachCall(
        _ ground: Ground, _ program: String, _ row: Row, _ prelude: Prelude = .none
    ) throws {
        let calls = try ground.calls(of: program, after: prelude)
        for call in Length.isLong ? calls : Length.sample(calls.filter(\.isWriting), few: 8) {
            let trial = try ground.trial()
            try prelude.play(trial)
            let isKilled = try trial.run(program, under: .kill(before: call)) == -9
            row.count(
                try trial.verdict(), "killed before \(call)",
                hasStruck: isKilled || prelude == .killedDrainer)
        }
        try row.report()
    }
}

extension Ground {
    /// The system calls of a program that nothing hinders.
    func calls(of program: String, after prelude: Prelude = .none) throws -> [Fault.Call] {
        let trial = try trial()
        try prelude.play(trial)
        return try Fault.calls(
            of: program, program == "register" ? trial.registration : nil, in: trial)
    }
}

extension Trial {
    /// Runs a program under a fault. A client whose registration was not answered makes it again.
    ///
    /// - Returns: how the program ended.
    func run(_ program: String, under fault: Fault) throws -> Int32 {
        guard program == "register" else {
            return try start(program, fault: fault).end().exitCode
        }
        let ended = try start(program, registration, fault: fault).end()
        if (try? Answer(event: ended.stdout))?.status != 200 { try run(program, registration) }
        return ended.exitCode
    }
}
