import JSON
import Testing
import Turnstone

@Suite struct TextTests {
    @Test(
        "a value is written on one line",
        arguments: [
            (.null, "null"), (true, "true"), (.integer(.min), "-9223372036854775808"),
            (.number(0.5), "0.5"), ("", #""""#), ("a/b\"\\\n\u{1}é😀", #""a/b\"\\\n\u0001é😀""#),
            ("a\0b", "\"a�b\""), ([], "[]"), ([1, [:]], "[1,{}]"),
            (["b": 1, "a": [.null]], #"{"b":1,"a":[null]}"#),
        ] as [(JSONValue, String)])
    func text(value: JSONValue, expected: String) {
        #expect(String(decoding: JSON.text(value), as: UTF8.self) == expected)
    }

    @Test(
        "a written value is read back unchanged",
        arguments: [
            .number(0.1), .number(1.0), .number(-1.5e300),
            .number(JSONNumber(.leastNonzeroMagnitude)),
            .integer(.max),
            .string(String(repeating: "é", count: 10_000)),
            .array((0..<5000).map { .integer($0) }), ["": "", "a b": ["…": 0]],
        ] as [JSONValue])
    func roundTrip(value: JSONValue) throws {
        #expect(try JSON.parse(JSON.text(value)) == value)
    }
}
