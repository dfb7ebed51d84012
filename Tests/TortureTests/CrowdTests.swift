import Foundation
import TestSupport
import Testing

/// Two hosts' worth of processes on one state folder, one of which is killed again and again.
@Suite struct CrowdTests {
    @Test("many cycles and drainers at once, and killed ones among them, lose nothing")
    func crowd() throws {
        let row = Row("12 processes on one state folder under two names, one killed at a time")
        let ground = try Ground(players: 6, devices: 4, .registered)
        var dice = SystemRandomNumberGenerator()
        for round in 0..<Length.times(60, few: 4) {
            let trial = try ground.trial()
            // The other host has the folder under another name.
            let other = "\(trial.state.path)-elsewhere"
            try FileManager.default.createSymbolicLink(
                atPath: other, withDestinationPath: trial.state.path)
            defer { try? FileManager.default.removeItem(atPath: other) }
            try ground.simulator.perform(["do": "settings", "streams": 2])
            try ground.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 5])
            for _ in 0..<4 {
                try trial.advance(seconds: 31)
                var running: [RunningProgram] = []
                for number in 0..<12 {
                    trial.variables["TURNSTONE_STATE"] = number < 6 ? nil : other
                    running.append(
                        try trial.start(number % 3 == 0 ? "check-turns" : "deliver"))
                }
                usleep(UInt32.random(in: 0...40_000, using: &dice))
                running.remove(at: Int.random(in: 0..<12, using: &dice)).send(SIGKILL)
                for program in running {
                    let ended = try program.end()
                    #expect(ended.exitCode == 0, "\(ended.stderr)")
                }
            }
            trial.variables["TURNSTONE_STATE"] = nil
            row.count(try trial.verdict(), "round \(round)")
        }
        try row.report()
    }
}
