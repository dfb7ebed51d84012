import Testing
import Turnstone

@testable import Edge

@Suite struct FieldsTests {
    @Test(
        "a required text is a text, and not empty",
        arguments: [
            ([:], "a is required"), (["a": .null], "a is required"), (["a": ""], "a is required"),
            (["a": 1], "a must be a string"), (["a": ["x"]], "a must be a string"),
            (["a": "x"], nil),
        ] as [(JSONObject, String?)])
    func requiredText(members: JSONObject, fault: String?) throws {
        var fields = Fields(members)
        guard let fault else {
            #expect(try fields.requiredText("a") == "x")
            return
        }
        #expect(throws: Failure.malformed(fault)) { try fields.requiredText("a") }
    }

    @Test("an optional text may be missing, null or empty, but nothing else")
    func optionalText() throws {
        for members in [[:], ["a": .null], ["a": ""]] as [JSONObject] {
            var fields = Fields(members)
            #expect(try fields.optionalText("a") == nil)
        }
        var fields = Fields(["a": "xä", "b": false, "c": "xä"])
        #expect(try fields.optionalText("a", atMost: 3) == "xä")
        #expect(throws: Failure.malformed("b must be a string")) { try fields.optionalText("b") }
        #expect(throws: Failure.malformed("c must be at most 2 bytes")) {
            try fields.optionalText("c", atMost: 2)
        }
    }

    @Test("a text may be empty")
    func text() throws {
        var fields = Fields(["a": "", "b": .null])
        #expect(try fields.text("a") == "")
        #expect(try fields.text("b") == nil)
    }

    private static let wrong: [(JSONValue, String, @Sendable (inout Fields) throws -> Void)] = [
        (1, "true or false", { _ = try $0.boolean("a") }),
        ("1", "a whole number", { _ = try $0.integer("a") }),
        (.number(1.5), "a whole number", { _ = try $0.integer("a") }),
        (-1, "seconds since 1970", { _ = try $0.moment("a") }),
        (253_402_300_800, "seconds since 1970", { _ = try $0.moment("a") }),
        ("2026-11-22", "seconds since 1970", { _ = try $0.moment("a") }),
        ([], "an object", { _ = try $0.object("a") }),
        ([:], "an array", { _ = try $0.texts("a") }),
        (["x", 1], "an array of strings", { _ = try $0.texts("a") }),
    ]

    @Test("a value of another type is refused by name", arguments: wrong.indices)
    func type(row: Int) {
        let (value, type, read) = Self.wrong[row]
        var fields = Fields(["a": value])
        #expect(throws: Failure.malformed("a must be \(type)")) { try read(&fields) }
        var missing = Fields(["a": .null])
        #expect(throws: Never.self) { try read(&missing) }
    }

    @Test("unknown members are refused by name, null too")
    func unknown() throws {
        var fields = Fields(["a": 1, "b": .null, "c": .null])
        _ = fields.take("a")
        _ = fields.take("b")
        #expect(throws: Failure.malformed("unknown member c")) { try fields.finish() }
        _ = fields.take("c")
        try fields.finish()
        #expect(fields.rest.members.isEmpty)
    }
}
