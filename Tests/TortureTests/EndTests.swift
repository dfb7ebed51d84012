import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// SIGTERM while many pushes are in flight: these come home, and the rest is left to the next run.
@Suite struct EndTests {
    @Test("a drainer that is asked to end finishes what is in flight and leaves the rest")
    func sigterm() throws {
        let row = Row("SIGTERM to `deliver` with 1 to 300 requests sent")
        let ground = try Ground(players: 5, devices: 60, .queued)
        for requests in Length.sample([1, 2, 3, 10, 40, 100, 200, 299, 300], few: 3) {
            for delay in Length.isLong ? [20, 100, 500] : [100] {
                let trial = try ground.trial()
                try ground.simulator.perform([
                    "do": "apns-fault", "kind": "delay", "ms": .integer(Int64(delay)),
                ])
                let deliver = try trial.start("deliver")
                try ground.simulator.waitForRequests(requests)
                deliver.send(SIGTERM)
                let ended = try deliver.end()
                #expect(ended.exitCode == 0, "\(ended.stderr)")
                let sent = try ground.simulator.apns()["requests"]?.integer
                #expect(Receipts(trial.state).settled.count == sent.map { Int($0) })
                row.count(
                    try trial.verdict(), "SIGTERM after \(requests) requests",
                    losesAnswers: false)
            }
        }
        try row.report()
    }
}

extension Simulator {
    /// Waits until so many requests came to APNs, whatever became of them.
    func waitForRequests(_ count: Int, milliseconds: Int64 = 20_000) throws {
        let answer = try perform([
            "do": "wait", "requests": .integer(Int64(count)), "ms": .integer(milliseconds),
        ])
        guard answer["reached"] == true else {
            throw TestFailure("\(count) requests have not come: \(try apns()["requests"] ?? 0)")
        }
    }
}
