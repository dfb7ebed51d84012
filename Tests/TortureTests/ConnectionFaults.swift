import JSON
import TestSupport
import Testing
import Turnstone

/// Resets the connection to a push service while pushes are in flight, those that it has taken and others.
///
/// - Parameter count: how many are in flight.
func resetConnections(
    to service: PushService, with count: Int, _ row: Row, _ ground: Ground, times: Int
) throws {
    let fault = JSONValue.string("\(service.rawValue)-fault")
    for _ in 0..<times {
        for isAccepted in [true, false] {
            let trial = try ground.trial()
            // The first push goes alone. Those that follow its answer get none.
            try ground.simulator.perform(["do": fault, "kind": "delay", "ms": 1, "count": 1])
            try ground.simulator.perform([
                "do": fault, "kind": "stall", "accepted": .bool(isAccepted),
            ])
            let deliver = try trial.start("deliver")
            try ground.simulator.waitForRequests(count + 1)
            try ground.simulator.perform([
                "do": "drop", "service": .string(service.rawValue), "reset": true,
            ])
            try ground.simulator.perform(["do": "clear"])
            _ = try deliver.end()
            let verdict = try trial.verdict()
            #expect(verdict.repeated == (isAccepted ? count : 0))
            row.count(verdict, "taken: \(isAccepted)")
        }
    }
    try row.report()
}

/// Lets a push service stop reading, by a command to the simulator. Takes as long as a client waits for a sign
/// of life.
func deafen(
    _ command: JSONObject, _ fault: String, test: String,
    _ ground: @escaping @Sendable () throws -> Ground
) async throws {
    try await onItsOwnThread {
        let row = Row(fault, test: test)
        let trial = try ground().trial()
        try trial.ground.simulator.perform(command)
        _ = try trial.start("deliver").end(timeLimit: 300)
        row.count(try trial.verdict(), fault)
        try row.report()
    }
}
