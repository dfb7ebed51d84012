import HTTP2
import Testing
import Turnstone

@testable import FCM

@Suite struct RetryAfterTests {
    private static let now = Timestamp("2026-11-21T12:00:00Z")!

    @Test(
        "seconds and dates are clamped between a second and an hour; the rest counts as absent",
        arguments: [
            ("7", 7), ("0", 1), ("3600", 3600), ("86400", 3600),
            ("99999999999999999999999", 3600), ("Sat, 21 Nov 2026 12:00:30 GMT", 30),
            ("Sat, 21 Nov 2026 11:59:59 GMT", 1), ("Mon, 21 Nov 2033 12:00:00 GMT", 3600),
            ("-5", nil), ("1.5", nil), ("", nil), ("soon", nil),
            ("Sat, 31 Feb 2026 12:00:00 GMT", nil), ("Saturday, 21-Nov-26 12:00:09 GMT", 9),
            ("Monday, 21-Nov-94 12:00:09 GMT", 1), ("Saturday, 21-Nov-2026 12:00:09 GMT", nil),
            ("Sat Nov 21 12:00:08 2026", 8), ("Sun Nov  6 08:49:37 1994", 1),
            ("Saturday, 21-Nov-26 12:00:09", nil), ("Sat Nov 21 12:00 2026", nil),
        ] as [(String, Int64?)])
    func pause(text: String, seconds: Int64?) {
        var fields = HeaderFields()
        fields.append("retry-after", text)
        #expect(retryAfter(fields, now: Self.now) == seconds.map { .seconds($0) })
    }
}
