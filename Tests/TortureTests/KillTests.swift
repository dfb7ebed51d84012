import JSON
import TestSupport
import Testing
import Turnstone

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

    @Test("a drainer of FCM killed at any system call loses nothing")
    func killFcm() throws {
        let ground = try Ground(players: 4, devices: 0, and: [.fcm], .queued)
        let row = Row("`kill -9` at each system call of the `deliver` for FCM")
        try killAtEachCall(ground, "deliver", row, queue: "fcm")
    }

    @Test("a drainer of Web Push killed at any system call loses nothing")
    func killWebPush() throws {
        let ground = try Ground(players: 4, devices: 0, and: [.web], .queued)
        let row = Row("`kill -9` at each system call of `deliver-web`")
        try killAtEachCall(ground, "deliver-web", row)
    }

    @Test("a drainer killed while it puts off what FCM was too busy for")
    func killFcmPuttingOff() throws {
        let ground = try Ground(players: 4, devices: 0, and: [.fcm], .queued)
        let row = Row("`kill -9` at each system call of a `deliver` that FCM answers 503 for half")
        try killAtEachCall(ground, "deliver", row, .busyGateway, queue: "fcm")
    }

    @Test("a cycle for three kinds of devices killed at any system call loses no part of a notice")
    func killParts() throws {
        let ground = try Ground(players: 2, devices: 1, and: [.fcm, .web], .registered)
        let row = Row(
            "`kill -9` at each system call of `check-turns`, notices for three push services")
        try killAtEachCall(ground, "check-turns", row)
    }

    @Test("an accepted message for three kinds of devices loses no part, wherever it was killed")
    func killNotify() throws {
        let ground = try Ground(
            players: 2, devices: 1, and: [.fcm, .web], .registered, hasGames: false)
        let row = Row(
            "`kill -9` at each system call of `notify`, a message for three push services")
        try killAtEachCall(ground, "notify", row)
    }

    @Test("an accepted message loses no part in any queue, wherever it was killed")
    func killNotifyQueues() throws {
        let ground = try Ground(
            players: 4, devices: 1, and: [.fcm], .registered, hasGames: false)
        let row = Row("`kill -9` at each system call of `notify`, parts in three queues each")
        try killAtEachCall(ground, "notify", row, .threeQueues)
    }

    @Test("a drainer killed while it gives the parts their names that a killed program has left")
    func killCompletion() throws {
        let ground = try Ground(
            players: 4, devices: 1, and: [.fcm], .registered, hasGames: false)
        let row = Row(
            "`kill -9` at each system call of the `deliver` that completes parts in three queues")
        try killAtEachCall(ground, "deliver", row, .unfinishedParts, queue: "apns-1")
    }

    @Test("a drainer killed while it moves notices to other queues")
    func killMove() throws {
        let ground = try Ground(players: 4, devices: 2, .queued)
        let row = Row(
            "`kill -9` at each system call of the `deliver` that moves notices to 3 queues")
        try killAtEachCall(ground, "deliver", row, .threeQueues, queue: "apns-1")
    }

    @Test("a drainer killed while it moves the parts of a message to other queues")
    func killMoveParts() throws {
        let ground = try Ground(players: 4, devices: 2, .registered, hasGames: false)
        let row = Row(
            "`kill -9` at each system call of the `deliver` that moves a message from 2 queues to 3"
        )
        try killAtEachCall(ground, "deliver", row, .otherQueues, queue: "apns-1")
    }

    @Test("a drainer killed while it moves what remains of a message to other queues")
    func killMoveBegun() throws {
        let ground = try Ground(players: 4, devices: 2, .registered, hasGames: false)
        let row = Row(
            "`kill -9` at each system call of the `deliver` that moves half a message from 2 queues to 3"
        )
        try killAtEachCall(ground, "deliver", row, .otherQueuesBegun, queue: "apns-1")
    }

    private func killAtEachCall(
        _ ground: Ground, _ program: String, _ row: Row, _ prelude: Prelude = .none,
        queue: String? = nil
    ) throws {
        let calls = try ground.calls(of: program, after: prelude, queue: queue)
        for call in Length.isLong ? calls : Length.sample(calls.filter(\.isWriting), few: 8) {
            let trial = try ground.trial()
            try prelude.play(trial)
            trial.variables["TURNSTONE_QUEUE"] = queue
            let isKilled = try trial.run(program, under: .kill(before: call)) == -9
            trial.variables["TURNSTONE_QUEUE"] = nil
            row.count(
                try trial.verdict(), "killed before \(call)",
                hasStruck: isKilled || prelude == .killedDrainer)
        }
        try row.report()
    }
}

extension Ground {
    /// The system calls of a program that nothing hinders.
    func calls(
        of program: String, after prelude: Prelude = .none, queue: String? = nil
    ) throws -> [Fault.Call] {
        let trial = try trial()
        try prelude.play(trial)
        trial.variables["TURNSTONE_QUEUE"] = queue
        return try Fault.calls(of: program, trial.request(to: program), in: trial)
    }
}

extension Trial {
    /// The request that a program is to answer; `nil` for one that a schedule starts.
    func request(to program: String) -> JSONValue? {
        switch program {
        case "register": registration
        case "notify": message("Hello", idempotencyKey: "the first one")
        default: nil
        }
    }

    /// Runs a program under a fault. A client whose request was not answered makes it again.
    ///
    /// - Returns: how the program ended.
    func run(_ program: String, under fault: Fault) throws -> Int32 {
        guard let request = request(to: program) else {
            return try start(program, fault: fault).end().exitCode
        }
        let ended = try start(program, request, fault: fault).end()
        let status = (try? Answer(event: ended.stdout))?.status ?? 0
        if !(200...299).contains(status) { try run(program, request) }
        return ended.exitCode
    }
}
