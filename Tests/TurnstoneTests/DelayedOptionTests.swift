import Foundation
import Testing
import Turnstone

/// At which moment of the user's own a message is sent.
@Suite struct DelayedOptionTests {
    private static let zones = [
        "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kathmandu", "Asia/Tokyo",
        "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca", "Pacific/Apia", "UTC",
    ]

    /// What Foundation's clock shows.
    private static func clock(_ moment: Timestamp, _ zone: String) -> Int? {
        guard let zone = TimeZone(identifier: zone) else { return nil }
        let date = Date(timeIntervalSince1970: Double(moment.seconds))
        let local = Int(moment.seconds) + zone.secondsFromGMT(for: date)
        return (local % 86_400 + 86_400) % 86_400 / 60
    }

    /// The same, found by looking at the clock every minute.
    private static func first(
        _ minute: Int, from start: Timestamp, _ zone: String
    ) -> Timestamp {
        var moment = Timestamp(milliseconds: start.milliseconds / 60_000 * 60_000)
        var last = clock(moment, zone) ?? 0
        if last == minute { return start }
        while true {
            moment = moment + .minutes(1)
            let shown = clock(moment, zone) ?? 0
            if shown == minute { return moment }
            // The clock went forward over it.
            if shown > last + 1, minute > last, minute < shown { return moment }
            if shown < last, last - shown > 720,
                (minute > last && minute < 1440) || (minute < shown)
            {
                return moment
            }
            last = shown
        }
    }

    @Test(
        "it is when the user's clock shows the time, across changes of the clock", arguments: zones)
    func timeOfDay(zone: String) {
        // The changes of 2026 and 2027 in all of these zones are within these days.
        for day in [60, 66, 74, 88, 95, 240, 270, 277, 297, 298, 300, 305, 431, 437, 451, 452] {
            let midnight = Timestamp(seconds: 1_767_225_600) + .days(Int64(day))
            for _ in 0..<20 {
                let start = midnight + .seconds(Int64.random(in: 0..<172_800))
                let minute = Int.random(in: 0..<1440)
                let found = DelayedOption.timeOfDay(minute).moment(
                    from: start, session: nil, in: zone, Self.clock)
                #expect(
                    found == Self.first(minute, from: start, zone),
                    "\(zone) \(start.milliseconds) \(minute)")
                #expect(found >= start && found - start <= .hours(26))
            }
        }
    }

    /// When a zone's clock changed in 2026 and 2027.
    private static func changes(in zone: String) -> [Timestamp] {
        let begin = Timestamp(seconds: 1_767_225_600)
        var changes: [Timestamp] = []
        for number in Int64(1)..<35_040 {
            let moment = begin + .minutes(number * 30)
            let before = clock(moment - .minutes(30), zone) ?? 0
            let after = clock(moment, zone) ?? 0
            if (after - before + 1440) % 1440 != 30 { changes.append(moment) }
        }
        return changes
    }

    @Test("the moment of a change of the clock is a time as any other", arguments: zones)
    func timeOfChange(zone: String) {
        for change in Self.changes(in: zone) {
            let shown = Self.clock(change, zone) ?? 0
            for number in Int64(-2)..<8 {
                let start = change - .seconds(number * 1200 + 30)
                for offset in [-1, 0, 1, 60] {
                    let minute = (shown + offset + 1440) % 1440
                    let found = DelayedOption.timeOfDay(minute).moment(
                        from: start, session: nil, in: zone, Self.clock)
                    #expect(
                        found == Self.first(minute, from: start, zone),
                        "\(zone) \(start.milliseconds) \(minute)")
                }
            }
        }
    }

    private func moment(_ text: String) throws -> Timestamp {
        try #require(Timestamp(text))
    }

    @Test(
        "a time that the clock leaves out is the moment of its change; one that comes twice is the first",
        arguments: [
            ("2027-03-28T00:00:00Z", 150, "2027-03-28T01:00:00Z"),
            ("2026-10-24T22:00:00Z", 150, "2026-10-25T00:30:00Z"),
            ("2026-10-25T00:45:00Z", 150, "2026-10-25T01:30:00Z"),
            ("2026-10-25T02:00:00Z", 150, "2026-10-26T01:30:00Z"),
            ("2026-10-25T00:20:30Z", 120, "2026-10-25T01:00:00Z"),
            ("2026-10-25T00:59:30Z", 120, "2026-10-25T01:00:00Z"),
            ("2026-10-25T00:00:30Z", 120, "2026-10-25T00:00:30Z"),
            ("2026-11-21T08:00:30Z", 540, "2026-11-21T08:00:30Z"),
            ("2026-11-21T08:01:00Z", 540, "2026-11-22T08:00:00Z"),
        ])
    func change(start: String, minute: Int, expected: String) throws {
        let found = DelayedOption.timeOfDay(minute).moment(
            from: try moment(start), session: nil, in: "Europe/Berlin", Self.clock)
        #expect(found == (try moment(expected)))
    }

    @Test(
        "a time to which the clock goes back comes at the change, unless it is to come before",
        arguments: [
            ("America/New_York", "2026-11-01T04:20:30Z", 60, "2026-11-01T05:00:00Z"),
            ("America/New_York", "2026-11-01T05:20:30Z", 60, "2026-11-01T06:00:00Z"),
            ("America/New_York", "2026-11-01T05:20:30Z", 61, "2026-11-01T06:01:00Z"),
            ("America/New_York", "2026-11-01T06:01:00Z", 60, "2026-11-02T06:00:00Z"),
            ("America/Havana", "2026-11-01T04:30:00Z", 0, "2026-11-01T05:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T14:45:00Z", 90, "2026-04-04T15:00:00Z"),
            ("Antarctica/Troll", "2026-10-25T00:30:00Z", 60, "2026-10-25T01:00:00Z"),
        ])
    func changeBack(zone: String, start: String, minute: Int, expected: String) throws {
        let found = DelayedOption.timeOfDay(minute).moment(
            from: try moment(start), session: nil, in: zone, Self.clock)
        #expect(found == (try moment(expected)))
    }

    @Test("the last active hour may begin with a change back")
    func lastActiveHourAtAChange() throws {
        // From 03:00 to 01:00.
        let found = DelayedOption.lastActive.moment(
            from: try moment("2026-10-25T00:30:00Z"), session: try moment("2026-10-20T23:10:00Z"),
            in: "Antarctica/Troll", Self.clock)
        #expect(found == (try moment("2026-10-25T01:00:00Z")))
    }

    @Test(
        "the last active hour is that of the user's clock",
        arguments: [
            // In summer at 18:40, so in winter at 18:00.
            ("2026-11-21T12:00:00Z", "2026-08-01T16:40:00Z", "2026-11-21T17:00:00Z"),
            ("2026-11-21T17:20:00Z", "2026-11-20T17:40:00Z", "2026-11-21T17:20:00Z"),
            ("2026-11-21T18:00:00Z", "2026-11-20T17:40:00Z", "2026-11-22T17:00:00Z"),
        ])
    func lastActive(start: String, session: String, expected: String) throws {
        let found = DelayedOption.lastActive.moment(
            from: try moment(start), session: try moment(session), in: "Europe/Berlin", Self.clock)
        #expect(found == (try moment(expected)))
        let now = try moment(start)
        #expect(
            DelayedOption.lastActive.moment(
                from: now, session: nil, in: "Europe/Berlin", Self.clock) == now)
    }

    @Test(
        "it survives being written and read", arguments: [DelayedOption.timeOfDay(65), .lastActive])
    func json(option: DelayedOption) {
        #expect(DelayedOption(option.json) == option)
        #expect(DelayedOption(["option": "timezone", "time": "25:00"]) == nil)
        #expect(DelayedOption(["option": "sometime"]) == nil)
    }

    @Test("a user without a time zone has that of the quiet hours, or else UTC")
    func zone() throws {
        let start = try moment("2026-11-21T12:00:00Z")
        var preferences = Preferences()
        var profile = Profile()
        func found() -> Timestamp {
            profile.moment(.timeOfDay(540), from: start, preferences, Self.clock)
        }
        #expect(found() == (try moment("2026-11-22T09:00:00Z")))
        preferences.quietHours = QuietHours(from: 0, to: 60, zone: "Asia/Tokyo")
        #expect(found() == (try moment("2026-11-22T00:00:00Z")))
        profile.timeZone = "America/New_York"
        #expect(found() == (try moment("2026-11-21T14:00:00Z")))
        profile.timeZone = "Mars/Olympus"
        #expect(found() == (try moment("2026-11-22T09:00:00Z")))
    }
}
