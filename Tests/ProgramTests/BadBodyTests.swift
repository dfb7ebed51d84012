import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Bodies that an endpoint does not accept, sent in every form of request.
@Suite struct BadBodyTests {
    static let bodies = [
        Bad("nothing", ""), Bad("white space", " \r\n"), Bad("an open brace", "{"),
        Bad("a member cut short", #"{"user_id": "1783"#), Bad("a form", "user_id=1783478"),
        Bad("XML", "<?xml version='1.0'?>"), Bad("an array", "[]"), Bad("a text", #""x""#),
        Bad("a number", "1"), Bad("null", "null"), Bad("an empty object", "{}"),
        Bad("text behind", #"{"user_id": "1"} {}"#),
        Bad("a comment", #"{"user_id": "1" /* one */}"#),
        Bad("a byte order mark", "\u{FEFF}{}"), Bad("a member twice", #"{"a": 1, "a": 1}"#),
        Bad("a member twice, once escaped", #"{"a": 1, "\u0061": 1}"#),
        Bad("a raw NUL", "{\"user_id\": \"1\0\"}"),
        Bad("an escaped NUL", #"{"user_id": "1\u0000"}"#),
        Bad("a NUL in a name", #"{"user_id\u0000": "1"}"#),
        Bad("half a surrogate", #"{"user_id": "\ud800"}"#),
        Bad("a raw line's end in a text", "{\"user_id\": \"1\n\"}"),
        Bad("a number beyond 64 bits", #"{"user_id": 18446744073709551616}"#),
        Bad("a number beyond a double", #"{"user_id": 1e999}"#),
        Bad("a number with a leading zero", #"{"user_id": 01}"#),
        Bad("65 deep", nested(65)), Bad("30,000 deep", nested(30_000)),
        Bad("30,000 open arrays", String(repeating: "[", count: 30_000)),
        Bad("too long", "", 413),
    ]

    @Test("a malformed body is refused", arguments: Endpoint.withBody, bodies)
    func body(endpoint: Endpoint, bad: Bad) throws {
        var text = Array(bad.text.utf8)
        if bad.status == 413 {
            text = Array("{".utf8) + Array(repeating: 32, count: endpoint.bodyLimit - 1)
            text += Array("}".utf8)
        }
        for attempt in attempts(endpoint, text) { try attempt.expect(bad.status) }
    }

    @Test("a body that is not UTF-8 is refused", arguments: Endpoint.withBody)
    func noText(endpoint: Endpoint) throws {
        let bodies: [[UInt8]] = [
            [0xff], Array(#"{"user_id": ""#.utf8) + [0xc0, 0xaf] + Array(#""}"#.utf8),
            Array(#"{"user_id": ""#.utf8) + [0xed, 0xa0, 0x80] + Array(#""}"#.utf8),
        ]
        for body in bodies {
            // An event's text is UTF-8 itself: the byte would be the event's fault.
            for attempt in attempts(endpoint, body, asText: false) { try attempt.expect(400) }
        }
    }

    @Test("a member of another type is refused", arguments: Endpoint.withBody)
    func types(endpoint: Endpoint) throws {
        let good = try #require(endpoint.body.flatMap { try? JSON.parse(Array($0.utf8)).object })
        let values: [JSONValue] = [.null, true, 1, .number(0.5), [], ["\n"], [:], ""]
        for member in good.members {
            for value in values where member.value.object == nil || value.object == nil {
                var bad = good
                bad[member.name] = value
                let attempt = attempts(endpoint, JSON.text(.object(bad)))[0]
                try attempt.expect(400)
            }
        }
    }

    @Test(
        "a body whose type is not JSON is refused", arguments: Endpoint.withBody,
        [
            "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
            "application/jsonp", "application/json, text/plain", "application",
        ])
    func contentType(endpoint: Endpoint, type: String) throws {
        let body = Array((endpoint.body ?? "").utf8)
        for attempt in attempts(endpoint, body, type: type) { try attempt.expect(415) }
    }

    /// The same body by each front, and in an event as a text and as base64.
    private func attempts(
        _ endpoint: Endpoint, _ body: [UInt8], asText: Bool = true,
        type: String = "application/json"
    ) -> [Attempt] {
        let head = """
            \(endpoint.method) \(endpoint.path) HTTP/1.1\r
            Host: a\r
            \(endpoint.headerLine)Content-Type: \(type)\r
            Content-Length: \(body.count)\r
            \r

            """
        let entries = [
            "GATEWAY_INTERFACE=CGI/1.1", "REQUEST_METHOD=\(endpoint.method)",
            "REQUEST_URI=\(endpoint.path)", endpoint.entry(), "CONTENT_TYPE=\(type)",
            "CONTENT_LENGTH=\(body.count)",
        ]
        let watchdog = [
            "Http_Method=\(endpoint.method)", "Http_Path=\(endpoint.path)",
            endpoint.entry("Http_"), "Http_Content_Type=\(type)",
        ]
        var headers: JSONObject = ["Content-Type": .string(type)]
        if let (name, value) = endpoint.credential { headers[name] = .string(value) }
        var event: JSONObject = [
            "method": .string(endpoint.method), "path": .string(endpoint.path),
            "headers": .object(headers),
            "body": .string(Data(body).base64EncodedString()), "isBase64Encoded": true,
        ]
        var attempts = [
            Attempt(endpoint: endpoint, front: .http, input: Array(head.utf8) + body),
            Attempt(
                endpoint: endpoint, front: .cgi, input: body,
                entries: entries.filter { !$0.isEmpty }),
            Attempt(
                endpoint: endpoint, front: .watchdog, input: body,
                entries: watchdog.filter { !$0.isEmpty }),
            Attempt(endpoint: endpoint, front: .event, input: JSON.text(.object(event))),
        ]
        if asText {
            event["body"] = .string(String(decoding: body, as: UTF8.self))
            event["isBase64Encoded"] = nil
            attempts.append(
                Attempt(endpoint: endpoint, front: .event, input: JSON.text(.object(event))))
        }
        return attempts
    }
}
