import JSON
import TestSupport
import Testing
import Turnstone

/// `kill -9` before each system call of a program, and then undisturbed runs.
@Suite(.enabled(if: Fault.isPossible, "strace is not installed"))
struct KillTests {
    @Test("a drainer killed at any system call loses nothing and sends nothing twice that it noted")
    func killDeliver() throws {
        try killAtEachCall(
            of: "deliver", Row("kill -9 at each system call of deliver"), .queued)
    }

    @Test("a cycle killed at any system call loses no turn and tells none twice")
    func killCheckTurns() throws {
        try killAtEachCall(
            of: "check-turns", Row("kill -9 at each system call of check-turns"), .registered)
    }

    private func killAtEachCall(of program: String, _ row: Row, _ point: Ground.Point) throws {
        let ground = try Ground(players: 3, devices: 2, point)
        let calls = try Fault.calls { _ = try ground.trial().start(program, fault: $0).end() }
        for call in Length.sample(calls, few: 16) {
            let trial = try ground.trial()
            let ended = try trial.start(program, fault: .kill(before: call)).end()
            let isKilled = ended.exitCode == -9
            row.count(
                try trial.verdict(mayLoseAnswers: isKilled), "killed before \(call)",
                hasStruck: isKilled)
        }
        try row.report()
    }
}
