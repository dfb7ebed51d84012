import TestSupport
import Testing

/// JSON events that no scheduler and no host would send.
@Suite struct BadEventTests {
    static let events = [
        Bad("an empty event", "{}"),
        Bad("an open brace", "{"),
        Bad("an array", #"[{"method": "{M}", "path": "{P}"}]"#),
        Bad("an event cut short", #"{"method": "{M}", "path": "{P}""#),
        Bad("text behind", #"{"method": "{M}", "path": "{P}"} x"#),
        Bad("two events", #"{"method": "{M}", "path": "{P}"}{}"#),
        Bad("a comma too many", #"{"method": "{M}", "path": "{P}",}"#),
        Bad("a member twice", #"{"method": "{M}", "path": "/x", "path": "{P}"}"#),
        Bad("single quotes", "{'method': '{M}', 'path': '{P}'}"),
        Bad("bytes that are no UTF-8", "{\"method\": \"{M}\", \"path\": \"{P}\u{F8FF}\"}"),
        Bad("a raw NUL", "{\"method\": \"{M}\", \"path\": \"{P}\0\"}"),
        Bad("an escaped NUL", #"{"method": "{M}", "path": "{P}\u0000"}"#),
        Bad("half a surrogate", #"{"method": "{M}", "path": "{P}\ud800"}"#),
        Bad(
            "a number beyond 64 bits",
            #"{"method": "{M}", "path": "{P}", "n": 18446744073709551616}"#),
        Bad("a number beyond a double", #"{"method": "{M}", "path": "{P}", "n": 1e999}"#),
        Bad("NaN", #"{"method": "{M}", "path": "{P}", "n": NaN}"#),
        Bad("no path", #"{"method": "{M}"}"#),
        Bad("no method", #"{"path": "{P}"}"#),
        Bad("a path that is null", #"{"method": "{M}", "path": null}"#),
        Bad("a method that is a number", #"{"method": 1, "path": "{P}"}"#),
        Bad("a method of two lines", #"{"method": "GET\r\nX: y", "path": "{P}"}"#),
        Bad("an empty method", #"{"method": "", "path": "{P}"}"#),
        Bad("headers as an array", #"{"method": "{M}", "path": "{P}", "headers": []}"#),
        Bad("a header that is a number", #"{"method": "{M}", "path": "{P}", "headers": {"a": 1}}"#),
        Bad(
            "headers of 20 kB",
            #"{"method": "{M}", "path": "{P}", "headers": {"a": "\#(String(repeating: "b", count: 20_000))"}}"#,
            431),
        Bad(
            "a body that is not base64",
            #"{"method": "{M}", "path": "{P}", "body": "?", "isBase64Encoded": true}"#),
        Bad(
            "a body that is too large", #"{"method": "{M}", "path": "{P}", "body": "{L}"}"#, 413),
        Bad("an event of 7 MB", "{\(String(repeating: " ", count: 7_000_000))", 413),
        Bad("an event 65 deep", #"{"method": "{M}", "path": "{P}", "a": \#(nested(65))}"#),
        Bad("an event 30,000 deep", #"{"method": "{M}", "path": "{P}", "a": \#(nested(30_000))}"#),
        Bad("30,000 open objects", String(repeating: #"{"a":"#, count: 30_000)),
    ]

    @Test("a malformed event is refused", arguments: Endpoint.all, events)
    func event(endpoint: Endpoint, bad: Bad) throws {
        try Attempt(endpoint: endpoint, front: .event, input: endpoint.filled(bad.text))
            .expect(bad.status)
    }

    @Test("a malformed path is refused", arguments: Endpoint.all, BadPath.all)
    func path(endpoint: Endpoint, bad: Bad) throws {
        let text = """
            {"version": "2.0", "rawPath": "\(bad.text)", "headers": {{K}},
             "requestContext": {"http": {"method": "{M}", "path": "/"}}}
            """
        let credential = endpoint.credential.map { #""\#($0.name)": "\#($0.value)""# } ?? ""
        let input = endpoint.filled(text, credential: credential)
        try Attempt(endpoint: endpoint, front: .event, input: input).expect(bad.status)
    }

    @Test("a scheduled program refuses a malformed event", arguments: Endpoint.scheduled)
    func scheduled(program: String) throws {
        let endpoint = Endpoint(program: program, method: "GET", path: "/\(program)")
        let texts = ["{", #"{"a": 1, "a": 2}"#, "{\"a\": \"\u{F8FF}\"}", #"{"a": \#(nested(65))}"#]
        for text in texts {
            try Attempt(endpoint: endpoint, front: .event, input: endpoint.filled(text))
                .expect(400)
        }
    }

    @Test("a scheduled program answers no requests", arguments: Endpoint.scheduled)
    func request(program: String) throws {
        let endpoint = Endpoint(program: program, method: "GET", path: "/\(program)")
        let event = Array(#"{"method": "GET", "path": "/\#(program)"}"#.utf8)
        try Attempt(endpoint: endpoint, front: .event, input: event).expect(404)
        let http = Array("GET /\(program) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        try Attempt(endpoint: endpoint, front: .http, input: http).expect(404)
        let entries = [
            "GATEWAY_INTERFACE=CGI/1.1", "REQUEST_METHOD=GET", "REQUEST_URI=/\(program)",
        ]
        try Attempt(endpoint: endpoint, front: .cgi, entries: entries).expect(404)
    }

    @Test("every program is in these tables")
    func everyProgramIsHere() {
        let programs =
            Endpoint.all.map(\.program) + Endpoint.scheduled + ["front", "page", "storage-test"]
        #expect(Set(programs) == Set(FixtureName.programs))
    }
}

/// Arrays in arrays.
func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
}
