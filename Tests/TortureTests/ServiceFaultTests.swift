import Foundation
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

    @Test("a TCP reset with all pushes to FCM in flight loses nothing")
    func fcmTcpReset() throws {
        try resetConnections(
            to: .fcm, with: 39, Row("FCM: a TCP reset with 39 requests in flight, taken and not"),
            ground(.fcm), times: Length.times(5, few: 1))
    }

    @Test("TLS to FCM that fails loses nothing")
    func fcmTls() throws {
        let faults = ["close", "reset", "garble", "cut"].flatMap { kind in
            Length.sample([1, 2, 3], few: 2).map { count -> [JSONObject] in
                [
                    [
                        "do": "tls-fault", "service": "fcm", "kind": .string(kind),
                        "count": .integer(Int64(count)),
                    ]
                ]
            }
        }
        try attempt(
            Row("FCM: TLS that fails: closed, reset, plain text, cut"), ground(.fcm, players: 6),
            faults, losesAnswers: false)
    }

    @Test("a limit of FCM's streams that falls to 1 in the middle and rises again")
    func fcmSettings() throws {
        let faults = Length.sample([1, 5, 20], few: 2).flatMap { fall in
            Length.sample([1, 10], few: 2).map { rise -> [JSONObject] in
                [
                    [
                        "do": "settings", "service": "fcm", "streams": 1,
                        "after": .integer(Int64(fall)),
                    ],
                    [
                        "do": "settings", "service": "fcm", "streams": 100,
                        "after": .integer(Int64(fall + rise)),
                    ],
                ]
            }
        }
        try attempt(
            Row("FCM: SETTINGS that lower the limit to 1 in the middle and raise it again"),
            ground(.fcm), faults, losesAnswers: false)
    }

    @Test(
        "FCM that cannot be found or reached loses nothing",
        arguments: [
            ("dns", "https://no-such-gateway.invalid"), ("refused", "https://127.0.0.1:1"),
        ])
    func fcmUnreachable(name: String, address: String) throws {
        let sentence = name == "dns" ? "a name that does not resolve" : "a connection refused"
        let row = Row("FCM: \(sentence), then mended", test: "fcmUnreachable")
        let ground = try ground(.fcm, players: 6)
        for _ in 0..<Length.times(5, few: 1) {
            let trial = try ground.trial()
            trial.variables["FCM_BASE_URL"] = address
            _ = try trial.start("deliver").end()
            trial.variables["FCM_BASE_URL"] = nil
            row.count(try trial.verdict(), name, losesAnswers: false)
        }
        try row.report()
    }

    @Test(
        "FCM that stops reading loses nothing", arguments: Length.isLong ? [nil, 0, 1, 20] : [nil])
    func fcmDeaf(after: Int?) async throws {
        var command: JSONObject = ["do": "deaf", "service": "fcm"]
        command["after"] = after.map { .integer(Int64($0)) }
        let place = after.map { "after request \($0)" } ?? "before the handshake"
        try await deafen(command, "FCM: a gateway that stops reading \(place)", test: "fcmDeaf") {
            try ground(.fcm)
        }
    }

    @Test("a browser's push service that reads nothing loses nothing")
    func webDeaf() async throws {
        try await deafen(
            ["do": "web-deaf"], "Web Push: a push service that reads nothing", test: "webDeaf"
        ) {
            try ground(.web)
        }
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

    @Test("an access token that FCM does not accept any more costs nothing")
    func fcmExpired() throws {
        let faults = [1, 3, 7].map { every -> [JSONObject] in
            [
                [
                    "do": "fcm-fault", "status": 401, "reason": "ACCESS_TOKEN_EXPIRED",
                    "every": .integer(every), "count": 2,
                ]
            ]
        }
        try attempt(
            Row("FCM: 401 to each, each third and each seventh push"), ground(.fcm),
            Length.sample(faults, few: 3), losesAnswers: false)
    }

    /// Refuses half of the devices, and checks that the others get their pushes.
    private func refuseHalf(
        _ row: Row, _ service: PushService, _ outcome: String, _ faults: [(Target) -> JSONObject]
    ) throws {
        let ground = try ground(service)
        for fault in faults {
            let trial = try ground.trial()
            // More would look like a fault of the whole service.
            let targets = ground.targets.sorted { $0.name < $1.name }.prefix(7)
            for target in targets {
                try ground.simulator.perform(fault(target))
                trial.refused[target] = outcome
            }
            try trial.run("deliver")
            row.count(try trial.verdict(keepingFaults: true), outcome, losesAnswers: false)
        }
        try row.report()
    }

    @Test("devices that FCM does not know any more are removed, and the others get their pushes")
    func fcmGone() throws {
        try refuseHalf(
            Row("FCM: UNREGISTERED for some devices"), .fcm, "gone",
            [{ ["do": "fcm-token", "token": .string($0.name), "is": "gone"] }])
    }

    @Test("devices that FCM cannot reach for want of a key stay, and the others get their pushes")
    func fcmForeign() throws {
        try refuseHalf(
            Row("FCM: THIRD_PARTY_AUTH_ERROR for some devices"), .fcm, "refused",
            [
                {
                    [
                        "do": "fcm-fault", "token": .string($0.name), "status": 401,
                        "reason": "THIRD_PARTY_AUTH_ERROR",
                    ]
                }
            ])
    }

    @Test("browsers that are gone are removed, and the others get their pushes")
    func webGone() throws {
        try refuseHalf(
            Row("Web Push: 404 and 410 for some browsers"), .web, "gone",
            [404, 410].map { status in
                { ["do": "web-gone", "id": .string($0.name), "status": .integer(status)] }
            })
    }

    @Test("a redirect is refused and not followed, and the other browsers get their pushes")
    func webRedirect() throws {
        try refuseHalf(
            Row("Web Push: redirects for some browsers"), .web, "refused",
            Length.sample([301, 302, 307, 308], few: 2).map { status in
                {
                    [
                        "do": "web-fault", "token": .string($0.name),
                        "status": .integer(Int64(status)), "reason": "Moved",
                    ]
                }
            })
    }

    /// The pause that a push service asks for, in both forms of `Retry-After`.
    private func pauses(_ service: PushService, _ row: Row) throws {
        // Five minutes after a trial begins.
        let date = "Sat, 21 Nov 2026 12:05:02 GMT"
        let ground = try ground(service, players: 4)
        let name = service.rawValue
        for (status, pause) in [(429, .integer(300)), (503, .integer(300)), (503, .string(date))]
            as [(Int64, JSONValue)]
        {
            let trial = try ground.trial()
            try ground.simulator.perform([
                "do": .string("\(name)-fault"), "status": .integer(status), "retry_after": pause,
            ])
            try trial.run("deliver")
            ground.simulator.clear()
            try trial.advance(seconds: 100)
            try trial.run("deliver")
            #expect(try ground.simulator.taken().isEmpty, "\(status): it did not wait")
            row.count(try trial.verdict(), "\(status) \(pause)", losesAnswers: false)
        }
        try row.report()
    }

    @Test("FCM is left alone for as long as it asks")
    func fcmRetryAfter() throws {
        try pauses(.fcm, Row("FCM: Retry-After of 300 seconds, or a date"))
    }

    @Test("a browser's push service is left alone for as long as it asks")
    func webRetryAfter() throws {
        try pauses(.web, Row("Web Push: Retry-After of 300 seconds, or a date"))
    }

    @Test("GOAWAY from a browser's push service after any stream loses nothing")
    func webGoaway() throws {
        let faults = Length.sample(Array(1...39), few: 3).flatMap { number in
            [false, true].map { isEach -> [JSONObject] in
                [
                    [
                        "do": "goaway", "service": "web", "after": .integer(Int64(number)),
                        "each": .bool(isEach),
                    ]
                ]
            }
        }
        try attempt(
            Row("Web Push: GOAWAY after the n-th stream, n = 1…39"), ground(.web), faults)
    }

    @Test("TLS to a browser's push service that fails loses nothing")
    func webTls() throws {
        let faults = ["close", "reset", "garble", "cut"].map { kind -> [JSONObject] in
            [["do": "tls-fault", "service": "web", "kind": .string(kind), "count": 2]]
        }
        try attempt(
            Row("Web Push: TLS that fails: closed, reset, plain text, cut"),
            ground(.web, players: 6), faults, losesAnswers: false)
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
