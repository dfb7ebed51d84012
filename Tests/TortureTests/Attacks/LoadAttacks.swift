import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

extension Attacks {
    /// Requests that are many, or take long.
    @Suite struct LoadAttacks {
        @Test("a state for a session is one file, however many listen")
        func listeners() throws {
            let count = Length.times(10_000, few: 300)
            let row = AttackRow("a session with \(count) listeners")
            let installation = try Installation()
            let made = try Programs.run(
                "bench-tool", ["listeners", installation.state.path, "\(count)"], environment: [:])
            #expect(made.exitCode == 0, "\(made.stderr)")
            let before = installation.trial.spooled().count
            var times: [Double] = []
            for step in 1...3 {
                try times.append(
                    milliseconds {
                        let reply = try installation.ask(
                            "POST", "/api/push/live-activity", by: .backend,
                            [
                                "sessionId": "final",
                                "contentState": ["step": .integer(Int64(step))],
                            ])
                        #expect(reply.status == 202)
                    })
                if step == 1 {
                    #expect(installation.trial.spooled().count - before == 1)
                    try installation.run("deliver")
                }
            }
            let files = installation.trial.spooled().count - before
            try installation.advance(seconds: 15)
            try installation.run("deliver")
            let steps = try installation.accepted().compactMap {
                $0["payload"]?.object?["aps"]?.object?["content-state"]?.object?["step"]?.integer
            }
            // The second state gave way to the third one.
            let reached = [1, 3].map { step in steps.count { $0 == step } }
            #expect(files == 1)
            #expect(reached == [count, count] && steps.count == 2 * count)
            try row.report(
                "ms of one state", before: "38,000 (1,000 listeners)", now: times.median)
            try row.report("files in the spool", before: "1 for each listener", now: "\(files)")
            try row.report(
                "listeners who got each state that was due", before: "-",
                now: (reached.min() ?? 0).of(count))
        }

        @Test(
            "checks that wait for a stalled OGS leave room for other requests",
            .enabled(if: Door.all.contains(.nginx)))
        func stalledChecks() throws {
            let row = AttackRow("4 calls of /check while OGS stalls", through: .nginx)
            let installation = try Installation(.nginx, workers: 4)
            let players = (11...15).map(String.init)
            let keys = try players.map { player in
                try #require(
                    installation.makeKey(of: player).json?.object?["api_key"]?.string)
            }
            try installation.simulator.perform(["do": "ogs-fault", "kind": "stall"])
            let began = try installation.simulator.ogs()["requests"]?.integer ?? 0
            let checks = try zip(players, keys).prefix(4).map { player, key in
                try installation.send("GET", "/check/\(player)", by: .key(key))
            }
            for _ in 0..<1000 where try installation.simulator.ogs()["requests"]?.integer == began {
                usleep(10_000)
            }
            var answered = 0
            /// After each of the other requests, which checks have their answers.
            var states: [[Bool]] = []
            let device = tokens(1...1)[0]
            for number in 0..<20 {
                let reply =
                    try number.isMultiple(of: 2)
                    ? installation.ask("GET", "/health", by: .anyone)
                    : installation.ask(
                        "POST", "/register", by: .key(keys[4]),
                        ["user_id": .string(players[4]), "device_token": .string(device)])
                answered += reply.status == 200 ? 1 : 0
                states.append(checks.map(\.hasAnswer))
            }
            // nginx itself refuses those for whom there is no room. A check that has waited says: 30 s.
            let stalled = try checks.indices.filter {
                try HostAnswer(checks[$0].receive()).headers["retry-after"] != "5"
            }
            let meanwhile = states.count { state in stalled.allSatisfy { !state[$0] } }
            #expect(answered == 20)
            #expect(stalled.count == 2)
            // They have not waited for the end of one that stalls.
            #expect(meanwhile > 0)
            try row.report(
                "other requests answered while they stall", before: "0 (for 11 s)",
                now: meanwhile.of(20))
            try row.report(
                "checks refused at once, so that others pass", before: "-",
                now: (checks.count - stalled.count).of(checks.count))
        }

        @Test(
            "a caller's requests above the limit are refused, and nobody else's",
            arguments: Door.all)
        func flood(door: Door) throws {
            let (limit, count) = Length.isLong ? (600, 1000) : (60, 100)
            let row = AttackRow(
                "\(count) requests of one key within a minute of which \(limit) are allowed",
                through: door)
            let installation = try Installation(
                door, Length.isLong ? [:] : ["CALLER_REQUESTS_PER_MINUTE": "\(limit)"])
            let keys = try ["11", "12"].map { player in
                try #require(
                    installation.makeKey(of: player).json?.object?["api_key"]?.string)
            }
            var own: [Int] = []
            var others: [Int] = []
            let time = try milliseconds {
                for number in 0..<count {
                    let reply = try installation.ask("GET", "/api/preferences", by: .key(keys[0]))
                    own.append(reply.status)
                    #expect(reply.status != 429 || reply.headers["retry-after"] != nil)
                    guard number.isMultiple(of: 10) else { continue }
                    for caller in [Installation.Caller.key(keys[1]), .user("ann")] {
                        others.append(
                            try installation.ask("GET", "/api/preferences", by: caller).status)
                    }
                }
            }
            let granted = own.count { $0 == 200 }
            let refused = own.count { $0 == 429 }
            // However long all of them take, so much more is allowed meanwhile.
            let more = Int(time * Double(limit) / 60_000) + 1
            #expect((limit...limit + more).contains(granted) && granted + refused == count)
            #expect(others.allSatisfy { $0 == 200 })
            try row.report(
                "answered and refused with 429", before: "no limit",
                now: "\(granted), \(refused) (in \(String(format: "%.1f", time / 1000)) s)")
            try row.report(
                "others' requests answered meanwhile", before: "-",
                now: others.count { $0 == 200 }.of(others.count))
        }
    }
}
