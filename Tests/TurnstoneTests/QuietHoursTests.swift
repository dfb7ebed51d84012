import Testing
import Turnstone

/// When quiet hours end, by clocks that are made up.
@Suite struct QuietHoursEndTests {
    /// Minutes since midnight of 21 November 2026, UTC, as a clock shows them that is put forward by some
    /// minutes at a moment.
    private func end(
        from: Int, to: Int, at minute: Int64, forward: Int64 = 0, after change: Int64 = .max
    ) throws -> Int64? {
        let midnight = noon - .hours(12)
        let hours = try #require(QuietHours(from: from, to: to, zone: "Here"))
        let end = hours.end(at: midnight + .minutes(minute)) { (moment, zone) in
            #expect(zone == "Here")
            let minutes = (moment - midnight).milliseconds / 60_000
            return Int((minutes + (minutes >= change ? forward : 0) + 14_400) % 1440)
        }
        return end.map { ($0 - midnight).milliseconds / 60_000 }
    }

    @Test(
        "a free time is found, however short it is",
        arguments: [
            (490, 480, 600, 1920), (0, 1439, 600, 1439), (600, 599, 600, 2039), (1, 0, 1, 1440),
            (480, 490, 485, 490), (1320, 420, 1380, 1860),
        ] as [(Int, Int, Int64, Int64)])
    func short(from: Int, to: Int, at minute: Int64, end expected: Int64) throws {
        #expect(try end(from: from, to: to, at: minute) == expected)
    }

    @Test(
        "a day with a change of the clock ends when the clock says so",
        arguments: [
            // Forward by an hour at 02:00, past the end, past all of the free time, and back.
            (1320, 420, 0, 60, 120, 360), (1320, 150, 0, 60, 120, 120),
            (150, 125, 0, 60, 120, 1505), (1320, 420, 0, -60, 180, 480),
            // Back at 02:00 to 01:00, where they end for the first and the second time, and where they
            // begin again; and back into them.
            (1320, 60, 0, -60, 120, 60), (80, 60, 90, -60, 120, 120), (90, 120, 100, -60, 120, 120),
            (60, 300, 80, -60, 120, 360), (90, 120, 155, -60, 120, 180),
        ] as [(Int, Int, Int64, Int64, Int64, Int64)])
    func change(
        from: Int, to: Int, at minute: Int64, forward: Int64, after change: Int64,
        end expected: Int64
    ) throws {
        #expect(
            try end(from: from, to: to, at: minute, forward: forward, after: change) == expected)
    }

    @Test("outside them, and if their zone is unknown, it is not quiet")
    func free() throws {
        #expect(try end(from: 490, to: 480, at: 485) == nil)
        let hours = try #require(QuietHours(from: 0, to: 1439, zone: "Nowhere"))
        #expect(hours.end(at: noon) { (_, _) in nil } == nil)
    }

    @Test("at the end of time, which a document may name, they end")
    func endOfTime() throws {
        let hours = try #require(QuietHours(from: 0, to: 1439, zone: "Here"))
        let last = Timestamp(milliseconds: .max)
        #expect(hours.end(at: last) { (_, _) in 600 } == last)
    }
}
