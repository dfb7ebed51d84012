import JSON
import Testing
import Turnstone

@testable import Edge

@Suite struct RequestTests {
    private func headers(_ fields: [(String, String)]) -> Headers {
        var headers = Headers()
        for (name, value) in fields { headers.append(name, value) }
        return headers
    }

    @Test("a header is found whatever its capitals; the first of several counts")
    func lookUp() {
        let headers = headers([("X-Thing", "1"), ("x-THING", "2")])
        #expect(headers["x-thing"] == "1")
        #expect(headers["x-other"] == nil)
    }

    @Test("a credential comes once or not at all")
    func credential() throws {
        #expect(try headers([]).credential("x-api-key") == nil)
        #expect(try headers([("X-API-Key", "k")]).credential("x-api-key") == "k")
        let twice = headers([("X-API-Key", "k"), ("x-api-key", "k")])
        #expect(throws: Failure.malformed("the header x-api-key may come only once")) {
            try twice.credential("x-api-key")
        }
    }

    @Test(
        "a JSON body may say so, or say nothing",
        arguments: [
            "application/json", "Application/JSON", "application/json; charset=utf-8",
            " application/json ;x", "text/json", "",
        ])
    func mediaType(type: String) throws {
        let value = try Body.bytes(Array("{}".utf8)).value(
            declared: headers([("Content-Type", type)]))
        #expect(value == [:])
        #expect(try Body.bytes(Array("{}".utf8)).value(declared: headers([])) == [:])
    }

    @Test(
        "a body of another kind is refused",
        arguments: [
            ("content-type", "text/plain"), ("content-type", "application/jsonp"),
            ("content-type", "application/json, text/html"), ("content-encoding", "gzip"),
            ("content-encoding", "br, identity"),
        ])
    func otherKind(name: String, value: String) {
        #expect {
            _ = try Body.bytes(Array("{}".utf8)).value(declared: self.headers([(name, value)]))
        } throws: { ($0 as? Failure)?.disposition == .refused(.unsupportedMediaType) }
    }

    @Test(
        "a content length is made of digits",
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775807", .max), ("", nil), ("-1", nil),
            ("+1", nil),
            ("1 ", nil), ("0x1", nil), ("1e3", nil), ("٣", nil), ("9223372036854775808", nil),
        ] as [(String, Int?)])
    func length(text: String, length: Int?) {
        #expect(contentLength(text) == length)
    }
}
