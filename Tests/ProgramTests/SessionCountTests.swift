import JSON
import TestSupport
import Testing
import Turnstone

/// Sessions that OneSignal's clients count.
@Suite struct SessionCountTests {
    @Test("sessions that are counted at the same time are all counted", arguments: [1, 3])
    func atTheSameTime(sessions: Int64) async throws {
        let installation = try Endpoint.installation()
        let file = "users/49/ann.json"
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[],"profile":{"tags":{},"revision":1}}"#, to: file
        )
        let environment = installation.environment
        let event = """
            {"method": "PATCH", "path": "/apps/\(Endpoint.appID)/users/by/external_id/ann", \
            "headers": {"Authorization": "Key \(Endpoint.serverKey)"}, \
            "body": {"deltas": {"session_count": \(sessions)}}}
            """
        _ = try await atOnce(8) { _ in
            for _ in 0..<6 {
                let ended = try Programs.run(
                    "onesignal-users", stdin: event, environment: environment)
                #expect(try Answer(event: ended.stdout).status == 202, "\(ended.stderr)")
            }
        }
        let user = try installation.state.read(file).flatMap { try JSON.parse($0).object }
        #expect(user?["profile"]?.object?["sessions"] == .integer(48 * sessions))
    }
}
