import TestSupport
import Testing

/// CGI requests (RFC 3875) that no orderly server would pass on.
@Suite struct BadCGITests {
    private func attempt(_ endpoint: Endpoint, _ entries: [String], _ body: String = "") -> Attempt
    {
        let filled = entries.map {
            String(decoding: endpoint.filled($0, credential: endpoint.entry()), as: UTF8.self)
        }
        return Attempt(
            endpoint: endpoint, front: .cgi, input: Array(body.utf8),
            entries: ["GATEWAY_INTERFACE=CGI/1.1"] + filled.filter { !$0.isEmpty })
    }

    /// Entries of the environment, with `|` between them.
    static let entries = [
        Bad("no method", "REQUEST_URI={P}"),
        Bad("an empty method", "REQUEST_METHOD=|REQUEST_URI={P}"),
        Bad("a method of two lines", "REQUEST_METHOD=GET\r\nX: y|REQUEST_URI={P}"),
        Bad("no target", "REQUEST_METHOD={M}"),
        Bad("an empty target", "REQUEST_METHOD={M}|REQUEST_URI="),
        Bad("a negative length", "REQUEST_METHOD={M}|REQUEST_URI={P}|CONTENT_LENGTH=-1"),
        Bad("a length that is no number", "REQUEST_METHOD={M}|REQUEST_URI={P}|CONTENT_LENGTH=two"),
        Bad(
            "a length beyond 64 bits",
            "REQUEST_METHOD={M}|REQUEST_URI={P}|CONTENT_LENGTH=99999999999999999999"),
        Bad(
            "a length of 8 EiB",
            "REQUEST_METHOD={M}|REQUEST_URI={P}|CONTENT_LENGTH=9223372036854775807", 413),
        Bad("a body cut short", "REQUEST_METHOD={M}|REQUEST_URI={P}|CONTENT_LENGTH=9"),
        Bad(
            "headers of 20 kB",
            "REQUEST_METHOD={M}|REQUEST_URI={P}|HTTP_X_A=\(String(repeating: "b", count: 20_000))",
            431),
    ]

    @Test("a malformed CGI request is refused", arguments: Endpoint.all, entries)
    func request(endpoint: Endpoint, bad: Bad) throws {
        try attempt(endpoint, bad.text.split(separator: "|").map(String.init) + ["{K}"], "{\"a\"")
            .expect(bad.status)
    }

    @Test("a malformed path is refused", arguments: Endpoint.all, BadPath.all)
    func path(endpoint: Endpoint, bad: Bad) throws {
        try attempt(endpoint, ["REQUEST_METHOD={M}", "REQUEST_URI=\(bad.text)", "{K}"])
            .expect(bad.status)
    }

    @Test(
        "a doubled credential is refused, which look-ups by name would hide",
        arguments: Endpoint.withCredential)
    func doubled(endpoint: Endpoint) throws {
        let entries = ["REQUEST_METHOD={M}", "REQUEST_URI={P}"]
        try attempt(endpoint, entries + ["{K}", "{K}"]).expect(400)
        let empty = endpoint.entry().prefix { $0 != "=" } + "="
        try attempt(endpoint, entries + ["{K}", String(empty)]).expect(400)
    }

    // `status` shows a wrong configuration as a problem.
    @Test("a header configures nothing", arguments: Endpoint.all.filter { $0.program != "status" })
    func headersConfigureNothing(endpoint: Endpoint) throws {
        let installation = try Endpoint.installation(environment: ["TURNSTONE_STATE": "relative"])
        let entries = [
            "REQUEST_METHOD={M}", "REQUEST_URI={P}", "{K}", "HTTP_PROXY=http://127.0.0.1:1",
            "HTTP_TURNSTONE_STATE=/tmp", "CONTENT_LENGTH=\(endpoint.body?.utf8.count ?? 0)",
        ]
        try attempt(endpoint, entries, endpoint.body ?? "").expect(503, in: installation)
    }

    @Test("arguments are ignored, since a query without = becomes some", arguments: Endpoint.all)
    func argumentsAreIgnored(endpoint: Endpoint) throws {
        var attempt = attempt(endpoint, ["REQUEST_METHOD=BREW", "REQUEST_URI={P}?--help", "{K}"])
        attempt.arguments = ["--help"]
        try attempt.expect(405)
    }
}
