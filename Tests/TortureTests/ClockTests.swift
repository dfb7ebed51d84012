import TestSupport
import Testing

/// A clock that jumps an hour either way: between runs, across midnight, and under a drainer that is killed.
@Suite struct ClockTests {
    /// Minutes by which the clock is wrong in a cycle, and in the two runs of the drainer after it.
    private static let jumps = [-60, 0, 60].flatMap { cycle in
        [-60, 0, 60].flatMap { first in [-60, 0, 60].map { (cycle, first, $0) } }
    }.filter { $0 != (0, 0, 0) }

    /// Minutes after noon (UTC) at which it begins.
    private static let moments = [0, 11 * 60 + 40, 12 * 60 + 20]

    @Test("a clock that jumps an hour either way loses nothing and sends nothing twice")
    func clockJumps() throws {
        let row = Row("a clock that jumps an hour either way between runs, also over midnight")
        let ground = try Ground(players: 2, devices: 3, .registered)
        for moment in Self.moments {
            for jumps in Length.sample(Self.jumps, few: 2) {
                for isEverybodys in [true, false] {
                    let trial = try ground.trial()
                    try trial.advance(seconds: Int64(moment) * 60)
                    try jump(trial, jumps, isEverybodys)
                    row.count(
                        try trial.verdict(),
                        "\(jumps) from \(moment), gateway's too: \(isEverybodys)")
                }
            }
        }
        try row.report()
    }

    /// - Parameter isEverybodys: whether the gateway's clock jumps with ours; it refuses provider tokens that
    ///   are too old for it or from its future.
    private func jump(
        _ trial: Trial, _ jumps: (cycle: Int, first: Int, second: Int), _ isEverybodys: Bool
    ) throws {
        try trial.skew(minutes: jumps.cycle, isEverybodys)
        try trial.run("check-turns")
        try trial.skew(minutes: jumps.first, isEverybodys)
        try Prelude.killedDrainer.play(trial)
        try trial.skew(minutes: jumps.second, isEverybodys)
        _ = try trial.start("deliver").end()
        try trial.skew(minutes: 0, true)
    }

    @Test("a gateway whose clock jumps under a drainer loses nothing")
    func gatewayClockJumps() throws {
        let row = Row("the gateway's clock jumps an hour either way under a running `deliver`")
        let ground = try Ground(players: 2, devices: 30, .queued)
        for minutes in [-61, 61] {
            for requests in Length.sample([1, 2, 10, 30, 59], few: 2) {
                let trial = try ground.trial()
                try ground.simulator.perform(["do": "settings", "streams": 10])
                try ground.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 20])
                let deliver = try trial.start("deliver")
                try ground.simulator.waitForRequests(requests)
                try ground.simulator.perform([
                    "do": "clock", "advance_ms": .integer(Int64(minutes) * 60_000),
                ])
                _ = try deliver.end()
                row.count(
                    try trial.verdict(), "\(minutes) minutes after \(requests)",
                    losesAnswers: false)
            }
        }
        try row.report()
    }
}

extension Trial {
    /// Makes our clock wrong, and the gateway's with it or not.
    fileprivate func skew(minutes: Int, _ isEverybodys: Bool) throws {
        let wrong = now + Int64(minutes) * 60_000
        variables["TURNSTONE_NOW"] = minutes == 0 ? nil : "\(wrong)"
        try ground.simulator.perform(["do": "clock", "now": .integer(isEverybodys ? wrong : now)])
    }
}
