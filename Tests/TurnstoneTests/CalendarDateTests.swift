import Testing
import Turnstone

@Suite struct CalendarDateTests {
    @Test(
        "a moment has a date",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (999, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (-1000, "1969-12-31T23:59:59Z"), (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_799_999, "2000-02-29T23:59:59Z"), (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_795_262_400_000, "2026-11-21T12:00:00Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
            (-11_670_998_400_000, "1600-02-29T00:00:00Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func text(milliseconds: Int64, text: String) {
        #expect(CalendarDate(Timestamp(milliseconds: milliseconds)).text == text)
        #expect(
            CalendarDate(Timestamp(milliseconds: milliseconds)).dayText == text.prefix { $0 != "T" }
        )
    }

    @Test(
        "HTTP writes it with its day of the week",
        arguments: [
            // RFC 9110 section 5.6.7 has the first.
            (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"),
        ] as [(Int64, String)])
    func http(milliseconds: Int64, text: String) {
        let moment = Timestamp(milliseconds: milliseconds)
        #expect(CalendarDate(moment).httpText == text)
        if milliseconds > 0 {
            #expect(requestedPause(text, now: moment - .seconds(5)) == .seconds(5))
        }
    }

    @Test("the first and the last moment have a date too", arguments: [Int64.min, .max])
    func extremes(milliseconds: Int64) {
        #expect(!CalendarDate(Timestamp(milliseconds: milliseconds)).text.isEmpty)
    }

    @Test("a sum beyond the last moment is the last moment")
    func saturation() {
        let last = Timestamp(milliseconds: .max)
        let first = Timestamp(milliseconds: .min)
        #expect(last + .days(1) == last)
        #expect(first - .days(1) == first)
        #expect((last - first).milliseconds == .max)
        #expect((first - last).milliseconds < 0)
    }
}
