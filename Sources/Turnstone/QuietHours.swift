/// The part of each day in which a user wants no notifications, by the user's local clock.
package struct QuietHours: Equatable, Sendable {
    /// Minutes since midnight. If `to` is not after `from`, they end on the next day.
    package let from: Int
    package let to: Int
    /// The time zone's name in the IANA database.
    package let zone: String

    /// - Returns: `nil` if the two are equal or not minutes of a day.
    package init?(from: Int, to: Int, zone: String) {
        guard (0..<1440).contains(from), (0..<1440).contains(to), from != to else { return nil }
        self.from = from
        self.to = to
        self.zone = zone
    }

    /// The time on the local clock of a zone at a moment, in minutes since midnight; `nil` if the zone is
    /// unknown.
    package typealias Clock = (Timestamp, _ zone: String) -> Int?

    /// When they end; `nil` if it is not quiet now.
    ///
    /// Found by looking at the clock, so that days of 23 and 25 hours end when the clock says so. Hours in a
    /// zone that is no longer known are not quiet, because guessing another zone would be quiet at the wrong
    /// time.
    package func end(at now: Timestamp, _ clock: Clock) -> Timestamp? {
        guard let minute = clock(now, zone), isQuiet(minute) else { return nil }
        let start = now.floor(to: .minutes(1))
        var moment = start
        // A change of the clock may skip the only free minute of one day, but not of three. Moments saturate:
        // at the end of time there is no later one.
        let last = start + .days(3)
        while moment < last {
            let shown = clock(moment, zone) ?? to
            guard isQuiet(shown) else { return moment }
            let end = moment + .minutes(Int64((to - shown + 1440) % 1440))
            if clock(end, zone) == to { return end }
            // The clock changes before then, so check it minute by minute.
            while moment < end, isQuiet(clock(moment, zone) ?? to) { moment = moment + .minutes(1) }
        }
        return moment
    }

    private func isQuiet(_ minute: Int) -> Bool {
        from < to ? minute >= from && minute < to : minute >= from || minute < to
    }
}

extension QuietHours {
    /// Reads `{"from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin"}`.
    package init?(_ json: JSONValue) {
        guard let members = json.object, let from = members["from"]?.string.flatMap(minuteOfDay),
            let to = members["to"]?.string.flatMap(minuteOfDay),
            let zone = members["timeZone"]?.string
        else { return nil }
        self.init(from: from, to: to, zone: zone)
    }

    package var json: JSONValue {
        [
            "from": .string(clockText(from)), "to": .string(clockText(to)),
            "timeZone": .string(zone),
        ]
    }
}
