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
