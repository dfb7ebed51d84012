import JSON
import TestSupport
import Testing

@Suite(.enabled(if: JSONTestSuite.isThere, "TURNSTONE_VECTORS is not set"))
struct SuiteTests {
    /// Texts that RFC 8259 allows and we refuse on purpose.
    private let ours: [String: String] = [
        "y_object_duplicated_key": "two readers would see two values",
        "y_object_duplicated_key_and_value": "the same",
        "y_object_escaped_null_in_key": "NUL ends a text for C",
        "y_string_null_escape": "the same",
    ]

    @Test("each text gets the verdict of RFC 8259, but for what we refuse on purpose")
    func verdicts() throws {
        var count = 0
        for text in try JSONTestSuite.texts() {
            let isTaken = (try? JSON.parse(text.bytes)) != nil
            count += 1
            switch text.verdict {
            case .accept: #expect(isTaken == (ours[text.name] == nil), "\(text.name)")
            case .refuse: #expect(!isTaken, "\(text.name)")
            case .free: break  // to come back at all is enough
            }
        }
        #expect(count == 318)
    }
}
