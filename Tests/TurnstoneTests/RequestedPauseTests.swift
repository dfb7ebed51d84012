import Testing
import Turnstone

@Suite struct RequestedPauseTests {
    private static let now = Timestamp("2026-11-21T12:00:00Z")!

    @Test(
        "seconds and dates, also in the past; a number that is too long is a long pause",
        arguments: [
            ("7", 7), ("0", 0), ("9999999999", 9_999_999_999),
            ("Sat, 21 Nov 2026 12:00:30 GMT", 30), ("Sat, 21 Nov 2026 11:59:59 GMT", -1),
            ("Saturday, 21-Nov-26 12:00:09 GMT", 9), ("Sat Nov 21 12:00:08 2026", 8),
            ("-5", nil), ("7.5", nil), ("7 8", nil), ("", nil), ("soon", nil),
        ] as [(String, Int64?)])
    func pause(text: String, seconds: Int64?) {
        #expect(requestedPause(text, now: Self.now) == seconds.map { .seconds($0) })
    }

    @Test(arguments: ["9999999999999", "9223372036854775808", "99999999999999999999999"])
    func aNumberThatIsTooLongIsALongPause(text: String) throws {
        #expect(try #require(requestedPause(text, now: Self.now)) > .days(365))
    }
}
