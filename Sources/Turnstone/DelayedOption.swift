/// How the moment is chosen at which each user gets a message.
package enum DelayedOption: Equatable, Sendable {
    /// When the clock in the user's time zone shows this minute of the day, from 0 to 1439.
    case timeOfDay(Int)
    /// In the hour of the day in which the user last used the app.
    case lastActive

    /// The moment for a user. Without a known session, that is `start` for ``lastActive``.
    ///
    /// - Parameters:
    ///   - start: it is not earlier.
    ///   - session: when the user last used the app.
    ///   - zone: the user's time zone.
    ///   - clock: it knows `zone`, or else the zone is taken for UTC.
    package func moment(
        from start: Timestamp, session: Timestamp?, in zone: String, _ clock: QuietHours.Clock
    ) -> Timestamp {
        func shown(_ moment: Timestamp) -> Int {
            clock(moment, zone) ?? Int(moment.milliseconds / 60_000 % 1440)
        }
        switch self {
        case .timeOfDay(let minute): return next(minute, from: start, shown)
        case .lastActive:
            guard let session else { return start }
            let hour = shown(session) / 60
            return shown(start) / 60 == hour ? start : next(hour * 60, from: start, shown)
        }
    }

    /// The first moment from `start` on at which a clock shows a minute, or has just skipped it.
    private func next(
        _ minute: Int, from start: Timestamp, _ shown: (Timestamp) -> Int
    ) -> Timestamp {
        let first = start.floor(to: .minutes(1))
        let current = shown(first)
        guard current != minute else { return start }
        let likely = first + .minutes(Int64((minute - current + 1440) % 1440))
        if shown(likely) == minute { return likely }
        // The clock is changed before then.
        var moment = first
        var last = current
        while moment < first + .days(2) {
            moment = moment + .minutes(1)
            let now = shown(moment)
            let step = (now - last + 1440) % 1440
            // It goes forward by at most half a day, and back to any minute.
            let isSkipped = step <= 720 && (now - minute + 1440) % 1440 < step
            if now == minute || isSkipped { return moment }
            last = now
        }
        return likely
    }
}

extension DelayedOption {
    /// Reads the form that ``json`` writes; `nil` for anything else.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        switch members["option"]?.string {
        case "last-active": self = .lastActive
        case "timezone":
            guard let minute = members["time"]?.string.flatMap(minuteOfDay) else { return nil }
            self = .timeOfDay(minute)
        default: return nil
        }
    }

    /// `{"option": "timezone", "time": "09:00"}` or `{"option": "last-active"}`.
    package var json: JSONValue {
        var members: JSONObject = ["option": .string(name)]
        members["time"] = time.map { .string($0) }
        return .object(members)
    }

    /// Its name in requests.
    package var name: String {
        switch self {
        case .timeOfDay: "timezone"
        case .lastActive: "last-active"
        }
    }

    /// The time of day, such as `09:00`.
    package var time: String? {
        if case .timeOfDay(let minute) = self { clockText(minute) } else { nil }
    }
}

extension Profile {
    /// The user's moment for a message that was accepted for this moment or later.
    ///
    /// A user without a time zone has that of the quiet hours, or else UTC.
    package func moment(
        _ option: DelayedOption, from start: Timestamp, _ preferences: Preferences,
        _ clock: QuietHours.Clock
    ) -> Timestamp {
        option.moment(
            from: start, session: lastSession,
            in: timeZone ?? preferences.quietHours?.zone ?? "UTC", clock)
    }
}
