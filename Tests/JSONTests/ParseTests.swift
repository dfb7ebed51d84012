import JSON
import Testing
import Turnstone

@Suite struct ParseTests {
    @Test("names are compared by their bytes")
    func names() throws {
        let object = try #require(
            JSON.parse(Array("{\"\u{e9}\": 1, \"e\u{301}\": 2}".utf8)).object)
        #expect(object["\u{e9}"] == 1 && object["e\u{301}"] == 2)
        var changed = object
        changed["e\u{301}"] = nil
        #expect(changed.members.count == 1 && changed["\u{e9}"] == 1)
    }

    @Test(
        "a value keeps its type",
        arguments: [
            ("null", .null), ("true", true), ("false", false), ("0", 0),
            ("-0", .number(JSONNumber("-0", value: -0.0))),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("0.5", .number(0.5)), ("1e3", .number(JSONNumber("1e3", value: 1000))),
            ("1.0", .number(1.0)),
            (#""""#, ""), (#""é😀""#, "é😀"), (#""\u00e9\ud83d\ude00""#, "é😀"),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), ("[]", []), ("{}", [:]),
            (" [1, {\"a\": [null]}]\n", [1, ["a": [.null]]]),
        ] as [(String, JSONValue)])
    func value(text: String, expected: JSONValue) throws {
        #expect(try JSON.parse(Array(text.utf8)) == expected)
    }

    @Test(
        "a fault names its place",
        arguments: [
            ("", 1, 0), (" ", 1, 1), ("{", 1, 1), ("[1,]", 1, 4), ("[1 2]", 1, 4),
            ("{\"a\" 1}", 1, 6),
            ("{\n\"a\": x}", 2, 6), ("[1]\n]", 2, 1), ("'a'", 1, 1),
            ("[01]", 1, 3), ("[+1]", 1, 2), ("[.5]", 1, 2), ("[1.]", 1, 4), ("NaN", 1, 3),
            ("\"\u{1}\"", 1, 2), (#""\x""#, 1, 3),
            ("1\0", 1, 2), ("{}\n\0{}", 2, 1), ("\0", 1, 1),
        ])
    func fault(text: String, line: Int, column: Int) {
        #expect(throws: JSONError(line: line, column: column)) { try JSON.parse(Array(text.utf8)) }
    }

    @Test(
        "JSON that is refused is distinguished from text that is not JSON",
        arguments: [
            (#"{"a":1,"a":2}"#, 1, 10, .duplicate("a")), (#""\ud800""#, 1, 8, .surrogate),
            (#"{"a\"b":1,"a\"b":2}"#, 1, 16, .duplicate(nil)),
            (#""\u0000""#, 1, 8, .nul), (#"{"a\u0000": 1}"#, 1, 10, .nul),
            ("18446744073709551616", 1, 20, .tooLargeNumber),
            ("-9223372036854775809", 1, 20, .tooLargeNumber), ("1e999", 1, 5, .tooLargeNumber),
        ] as [(String, Int, Int, JSONError.Cause)])
    func refused(text: String, line: Int, column: Int, cause: JSONError.Cause) {
        #expect(throws: JSONError(line: line, column: column, cause: cause)) {
            try JSON.parse(Array(text.utf8))
        }
    }

    @Test(
        "bytes that are not UTF-8 are refused",
        arguments: [
            [0xff], [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
            [0xe2, 0x82],
        ] as [[UInt8]])
    func encoding(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes + [0x22]) }
    }

    @Test("a raw NUL is refused", arguments: ["\0", "[\0]", "\"\0\"", "{}\0"])
    func rawNUL(text: String) {
        #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
    }

    @Test("64 levels are read, 65 are not", arguments: [("[", "]"), (#"{"a":"#, "}")])
    func depth(opening: String, closing: String) throws {
        func text(_ depth: Int) -> [UInt8] {
            let inside = opening == "[" ? "" : "0"
            let open = String(repeating: opening, count: depth)
            return Array((open + inside + String(repeating: closing, count: depth)).utf8)
        }
        #expect(throws: Never.self) { try JSON.parse(text(64)) }
        #expect(throws: JSONError(line: 0, column: 0)) { try JSON.parse(text(65)) }
        #expect(throws: JSONError.self) { try JSON.parse(text(100_000)) }
    }

    @Test("members keep their order, and a value its place when it is replaced")
    func order() throws {
        var object = try #require(JSON.parse(Array(#"{"z":1,"a":2,"m":3}"#.utf8)).object)
        object["a"] = "new"
        object["b"] = true
        object["z"] = nil
        #expect(
            String(decoding: JSON.text(.object(object)), as: UTF8.self)
                == #"{"a":"new","m":3,"b":true}"#)
    }
}
