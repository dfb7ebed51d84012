import JSON
import Testing
import Turnstone

@testable import Edge

/// Which parts of an event are read. The programs' fixtures have whole answers.
@Suite struct EventTests {
    private func request(_ event: JSONValue) throws -> RawRequest {
        var input = Input(JSON.text(event))
        var request = RawRequest()
        try Invocation.event.readEvent(&request, from: &input, bodyLimit: 1000)
        return request
    }

    @Test func apiGatewaysCookiesAreOneHeader() throws {
        let event: JSONValue = [
            "rawPath": "/a", "headers": ["x-b": "c"], "cookies": ["d=e", "f=g"],
            "requestContext": ["http": ["method": "GET"]],
        ]
        let headers = try request(event).headers
        #expect(headers["cookie"] == "d=e; f=g")
        #expect(headers["x-b"] == "c")
    }

    @Test(
        "a cookie that is not a string is refused",
        arguments: [[1], [.null], ["d=e", [:]]] as [JSONValue])
    func oddCookies(cookies: JSONValue) {
        #expect(throws: Failure.malformed("the event's cookies must be strings")) {
            try self.request([
                "rawPath": "/a", "cookies": cookies, "requestContext": ["http": ["method": "GET"]],
            ])
        }
    }

    /// A web action that is not raw, and hosts that pass members through, mix a client's members with their
    /// own.
    @Test(
        "a client's members do not stand in for a host's",
        arguments: [
            ["__ow_method": "delete", "__ow_path": "/a", "__ow_headers": ["b": "c"]],
            [
                "requestContext": ["http": ["method": "DELETE"]], "rawPath": "/a",
                "headers": ["b": "c"],
            ],
        ] as [JSONObject])
    func mixed(event: JSONObject) throws {
        var event = event
        for (name, value) in [("method", "GET"), ("path", "/x"), ("rawPath", "/y")]
        where event[name] == nil {
            event[name] = .string(value)
        }
        if event["headers"] == nil { event["headers"] = ["b": "x"] }
        let request = try request(.object(event))
        #expect(request.method == "DELETE")
        #expect(request.target == "/a")
        #expect(request.headers["b"] == "c")
    }

    @Test(
        "OpenWhisk's body is a text or base64, as it looks",
        arguments: [
            (#"{"a":1}"#, #"{"a":1}"#), ("eyJhIjoxfQ==", #"{"a":1}"#), ("", ""),
            ("plain text", "plain text"),
        ])
    func openWhiskBody(sent: String, taken: String) throws {
        let event: JSONValue = [
            "__ow_method": "post", "__ow_path": "/a", "__ow_body": .string(sent),
        ]
        guard case .bytes(let bytes) = try request(event).body else {
            Issue.record("the body is no bytes")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == taken)
    }

    @Test(
        "what means something in a target does not come out of a decoded path",
        arguments: [("/a/b", "/a/b"), ("/a%2Fb", "/a%252Fb"), ("/é?x#y", "/é%3Fx%23y")])
    func watchdogPath(path: String, target: String) {
        #expect(watchdogTarget(path) == target)
    }
}
