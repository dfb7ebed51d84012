import TestSupport
import Testing

/// Each call that may change a file fails, alone or with all of its name that follow.
@Suite(.enabled(if: Fault.isPossible, "strace is not installed"))
struct FailingCallTests {
    @Test("a drainer that finds no room at any call loses nothing")
    func fullDeliver() throws { try fail("deliver", "ENOSPC", .queued) }

    @Test("a drainer whose disk fails at any call loses nothing")
    func brokenDeliver() throws { try fail("deliver", "EIO", .queued) }

    @Test("a cycle that finds no room at any call loses no turn")
    func fullCheckTurns() throws { try fail("check-turns", "ENOSPC", .registered) }

    @Test("a cycle whose disk fails at any call loses no turn")
    func brokenCheckTurns() throws { try fail("check-turns", "EIO", .registered) }

    @Test("a registration that finds no room at any call is refused or holds")
    func fullRegister() throws { try fail("register", "ENOSPC", .registered) }

    @Test("a registration whose disk fails at any call is refused or holds")
    func brokenRegister() throws { try fail("register", "EIO", .registered) }

    private func fail(
        _ program: String, _ error: String, _ point: Ground.Point, test: String = #function
    ) throws {
        let row = Row(
            "`\(error)` at each writing call of `\(program)`, and from each one on", test: test)
        let isRegistration = program == "register"
        let ground = try Ground(
            players: 2, devices: isRegistration ? 1 : 2, point, hasNewcomer: isRegistration)
        let preludes: [Prelude] = program == "deliver" ? [.none, .busyGateway, .waited] : [.none]
        for prelude in preludes {
            let calls = try ground.calls(of: program, after: prelude).filter(\.isWriting)
            for call in Length.sample(calls, few: preludes.count > 1 ? 2 : 4) {
                for isLasting in [false, true] {
                    let trial = try ground.trial()
                    try prelude.play(trial)
                    let fault = Fault.failure(of: call, with: error, onward: isLasting)
                    _ = try trial.run(program, under: fault)
                    row.count(
                        try trial.verdict(), "\(fault), \(prelude)",
                        losesAnswers: program == "deliver")
                }
            }
        }
        try row.report()
    }
}
