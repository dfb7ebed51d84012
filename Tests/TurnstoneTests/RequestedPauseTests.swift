import Testing
import Turnstone

@Suite struct RequestedPauseTests {
    private static let now = Timestamp("2026-11-21T12:00:00Z")!

    @Test(
        "seconds and dates; zero and the past ask for no pause, or for the shortest one",
        arguments: [
            ("7", 7, 7), ("1", 1, 2), ("0", nil, 2), ("9999999999", 9_999_999_999, 9_999_999_999),
            ("Sat, 21 Nov 2026 12:00:30 GMT", 30, 30), ("Sat, 21 Nov 2026 12:00:00 GMT", nil, 2),
            ("Sat, 21 Nov 2026 11:59:59 GMT", nil, 2), ("Sun Nov  6 08:49:37 1994", nil, 2),
            ("Saturday, 21-Nov-26 12:00:09 GMT", 9, 9), ("Sat Nov 21 12:00:08 2026", 8, 8),
            ("-5", nil, nil), ("7.5", nil, nil), ("7 8", nil, nil), ("", nil, nil),
            ("soon", nil, nil), (nil, nil, nil),
        ] as [(String?, Int64?, Int64?)])
    func pause(text: String?, seconds: Int64?, atLeastTwo: Int64?) {
        #expect(requestedPause(text, now: Self.now) == seconds.map { .seconds($0) })
        let pause = requestedPause(text, now: Self.now, shortest: .seconds(2))
        #expect(pause == atLeastTwo.map { .seconds($0) })
    }

    @Test(arguments: ["9999999999999", "9223372036854775808", "99999999999999999999999"])
    func aNumberThatIsTooLongIsALongPause(text: String) throws {
        #expect(try #require(requestedPause(text, now: Self.now)) > .days(365))
    }
}
