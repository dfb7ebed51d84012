import JSON
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// What FCM and the push services of browsers may do to a drainer.
@Suite struct ServiceFaultTests {
    private func ground(_ service: PushService, players: Int = 40) throws -> Ground {
        try Ground(players: players, devices: 0, and: [service], .queued)
    }

    private func everies(_ name: String, _ members: JSONObject) -> [[JSONObject]] {
        [1, 3, 7].map { (every: Int64) in
            var command: JSONObject = ["do": .string(name), "every": .integer(every), "count": 30]
            for member in members.members { command[member.name] = member.value }
            return [command]
        }
    }

    @Test("GOAWAY from FCM after any stream loses nothing and repeats nothing")
    func fcmGoaway() throws {
        let faults = Length.sample(Array(1...39), few: 3).flatMap { number in
            [false, true].map { isEach -> [JSONObject] in
                [
                    [
                        "do": "goaway", "service": "fcm", "after": .integer(Int64(number)),
                        "each": .bool(isEach),
                    ]
                ]
            }
        }
        try attempt(
            Row("FCM: GOAWAY after the n-th stream, n = 1…39"), ground(.fcm), faults,
            losesAnswers: false)
    }

    @Test("RST_STREAM from FCM, of pushes that were taken and of others")
    func fcmReset() throws {
        let faults = Length.sample([1, 2, 7, 8, 11], few: 2).flatMap { code in
            // A server that says "refused" has taken nothing (RFC 9113 section 8.7).
            (code == 7 ? [false] : [false, true]).map { isAccepted -> [JSONObject] in
                [
                    [
                        "do": "fcm-fault", "kind": "reset", "code": .integer(Int64(code)),
                        "accepted": .bool(isAccepted), "every": 3, "count": 10,
                    ]
                ]
            }
        }
        try attempt(Row("FCM: RST_STREAM"), ground(.fcm), faults)
    }

    @Test("a connection to FCM that ends, with pushes that were taken and without")
    func fcmDrop() throws {
        let faults = [1, 5].flatMap { every in
            [false, true].map { isAccepted -> [JSONObject] in
                [
                    [
                        "do": "fcm-fault", "kind": "drop", "every": .integer(every),
                        "accepted": .bool(isAccepted), "count": 5,
                    ]
                ]
            }
        }
        try attempt(Row("FCM: the connection ends, pushes taken and not"), ground(.fcm), faults)
    }

    @Test("429 and 5xx from FCM wait and lose nothing")
    func fcmBusy() throws {
        let faults = [429, 500, 503].flatMap { everies("fcm-fault", ["status": .integer($0)]) }
        try attempt(
            Row("FCM: 429, 500 and 503 to each, each third and each seventh push"), ground(.fcm),
            Length.sample(faults, few: 3), losesAnswers: false)
    }

    @Test("a token server that fails loses nothing")
    func fcmOauth() throws {
        let faults: [[JSONObject]] = [
            [["do": "oauth-fault", "status": 500, "count": 2]],
            [["do": "oauth-fault", "status": 400, "reason": "invalid_grant", "count": 2]],
            [["do": "oauth-fault", "kind": "drop", "count": 2]],
            [["do": "oauth-fault", "kind": "reset", "code": 2, "count": 2]],
            [["do": "oauth", "revoke": true]],
            [["do": "tls-fault", "service": "fcm", "kind": "cut", "count": 2]],
        ]
        try attempt(
            Row("FCM: a token server that answers 500 or 400, or breaks"),
            ground(.fcm, players: 4), faults, losesAnswers: false)
    }

    @Test("429 and 5xx from a browser's push service wait and lose nothing")
    func webBusy() throws {
        let faults = [429, 500, 503].flatMap { everies("web-fault", ["status": .integer($0)]) }
        try attempt(
            Row("Web Push: 429, 500 and 503 to each, each third and each seventh push"),
            ground(.web), Length.sample(faults, few: 3), losesAnswers: false)
    }

    @Test(
        "connections to a browser's push service that end, with pushes that were taken and without")
    func webDrop() throws {
        let faults = ["drop", "reset"].flatMap { kind in
            [1, 5].flatMap { every in
                [false, true].map { isAccepted -> [JSONObject] in
                    [
                        [
                            "do": "web-fault", "kind": .string(kind), "every": .integer(every),
                            "accepted": .bool(isAccepted), "count": 5,
                        ]
                    ]
                }
            }
        }
        try attempt(
            Row("Web Push: a stream or connection ends, pushes taken and not"), ground(.web),
            Length.sample(faults, few: 4))
    }

    @Test("SIGTERM to all drainers while pushes of three services are in flight")
    func sigtermAll() throws {
        let row = Row("SIGTERM to `deliver` with pushes to three push services in flight")
        let ground = try Ground(players: 20, devices: 1, and: [.fcm, .web], .queued)
        for requests in Length.sample([1, 2, 5, 20, 40, 60], few: 2) {
            let trial = try ground.trial()
            for service in ["apns", "fcm", "web"] {
                try ground.simulator.perform([
                    "do": .string("\(service)-fault"), "kind": "delay", "ms": 100,
                ])
            }
            let deliver = try trial.start("deliver")
            try ground.simulator.waitForRequests(requests)
            deliver.send(SIGTERM)
            let ended = try deliver.end()
            #expect(ended.exitCode == 0, "\(ended.stderr)")
            row.count(
                try trial.verdict(), "SIGTERM after \(requests) requests", losesAnswers: false)
        }
        try row.report()
    }
}
