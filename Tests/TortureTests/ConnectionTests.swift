import JSON
import TestSupport
import Testing
import Turnstone

/// Connections that break, hang, or are never made.
@Suite struct ConnectionTests {
    @Test("a TCP reset with a thousand pushes in flight loses nothing")
    func tcpReset() throws {
        try resetConnections(
            to: .apns, with: 1000, Row("a TCP reset with 1,000 requests in flight, taken and not"),
            Ground(players: 5, devices: 230, .queued), times: Length.times(10, few: 1))
    }

    @Test("a connection that breaks at any push loses nothing")
    func drop() throws {
        let row = Row("the connection ends or is reset at each tenth push, taken and not")
        let ground = try Ground(players: 3, devices: 20, .queued)
        for isReset in [false, true] {
            for isAccepted in [false, true] {
                for every in Length.isLong ? [1, 2, 5, 10, 30] : [10] {
                    let trial = try ground.trial()
                    try ground.simulator.perform([
                        "do": "apns-fault", "kind": "drop", "every": .integer(Int64(every)),
                        "accepted": .bool(isAccepted), "reset": .bool(isReset), "count": 5,
                    ])
                    _ = try trial.start("deliver").end()
                    row.count(
                        try trial.verdict(),
                        "each \(every)., reset: \(isReset), taken: \(isAccepted)")
                }
            }
        }
        try row.report()
    }

    @Test(
        "a handshake that fails half-way loses nothing",
        arguments: ["close", "reset", "garble", "cut"])
    func tls(kind: String) throws {
        let row = Row("TLS that fails half-way: \(kind)", test: "tls")
        let ground = try Ground(players: 2, devices: 3, .queued)
        for count in Length.isLong ? [1, 2, 3, 10] : [1, 3] {
            let trial = try ground.trial()
            try ground.simulator.perform([
                "do": "tls-fault", "kind": .string(kind), "count": .integer(Int64(count)),
            ])
            _ = try trial.start("deliver").end()
            row.count(try trial.verdict(), "\(kind), \(count) times", losesAnswers: false)
        }
        try row.report()
    }

    @Test(
        "a gateway that cannot be found or reached loses nothing",
        arguments: [
            ("dns", "https://no-such-gateway.invalid"), ("refused", "https://127.0.0.1:1"),
        ])
    func unreachable(name: String, address: String) throws {
        let sentence = name == "dns" ? "a name that does not resolve" : "a connection refused"
        let row = Row("\(sentence), then mended", test: "unreachable")
        let ground = try Ground(players: 2, devices: 3, .queued)
        for _ in 0..<Length.times(5, few: 2) {
            let trial = try ground.trial()
            trial.variables["APNS_BASE_URL"] = address
            _ = try trial.start("deliver").end()
            trial.variables["APNS_BASE_URL"] = nil
            row.count(try trial.verdict(), name, losesAnswers: false)
        }
        try row.report()
    }

    @Test(
        "a gateway that stops reading loses nothing",
        arguments: Length.isLong ? [nil, 0, 1, 2, 20, 59] : [nil, 20])
    func deaf(after: Int?) async throws {
        var command: JSONObject = ["do": "deaf"]
        command["after"] = after.map { .integer(Int64($0)) }
        let place = after.map { "after request \($0)" } ?? "before the handshake"
        try await deafen(command, "a gateway that stops reading \(place)", test: "deaf") {
            try Ground(players: 3, devices: 20, .queued)
        }
    }
}
