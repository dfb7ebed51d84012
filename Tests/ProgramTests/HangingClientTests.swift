import TestSupport
import Testing

/// Clients that begin and then say no more, without closing the connection.
@Suite struct HangingClientTests {
    @Test("a client that hangs is answered with 408 after ten seconds")
    func hangingClients() async throws {
        let installation = try Endpoint.installation()
        let before = installation.state.files()
        let attempts = Self.attempts
        let ended = try await onItsOwnThread {
            // All at once, since each of them waits.
            let running = try attempts.map { try $0.start(in: installation, inputStaysOpen: true) }
            return try running.map { try $0.end() }
        }
        for (attempt, program) in zip(attempts, ended) { try attempt.check(program, 408) }
        #expect(installation.state.files() == before)
    }

    private static var attempts: [Attempt] {
        var attempts = Endpoint.all.map { Attempt(endpoint: $0, front: .http) }
        for endpoint in Endpoint.withBody {
            let line = "\(endpoint.method) \(endpoint.path)"
            let http = "\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
            let entries = [
                "GATEWAY_INTERFACE=CGI/1.1", "REQUEST_METHOD=\(endpoint.method)",
                "REQUEST_URI=\(endpoint.path)", "CONTENT_LENGTH=9",
            ]
            attempts += [
                Attempt(endpoint: endpoint, front: .http, input: Array(http.utf8)),
                Attempt(endpoint: endpoint, front: .http, input: Array("POST /".utf8)),
                Attempt(
                    endpoint: endpoint, front: .event, input: Array(#"{"method": "POST""#.utf8)),
                Attempt(
                    endpoint: endpoint, front: .cgi, input: Array("{".utf8), entries: entries),
            ]
        }
        return attempts
    }
}
