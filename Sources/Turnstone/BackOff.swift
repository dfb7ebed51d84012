/// How long OGS is not asked after it complained about too many requests.
package struct BackOff: Equatable, Sendable {
    /// No requests before this moment.
    package let until: Timestamp
    /// How many times in a row OGS complained.
    package let step: Int64
    /// When OGS last complained; `nil` if an older program recorded it.
    package let since: Timestamp?

    /// - Parameters:
    ///   - previous: the back-off before this one, if no answer came in between.
    ///   - requested: the pause that OGS asked for (`Retry-After`), at most an hour; otherwise 10 s, doubling
    ///     to 10 min.
    package init(after previous: BackOff?, requested: Interval?, now: Timestamp) {
        since = now
        step = (previous?.step ?? 0).saturatingAdd(1)
        let doubled = Interval.milliseconds(10_000 << min(step - 1, 6))
        until = now + min(requested ?? min(doubled, .minutes(10)), .hours(1))
    }

    /// Whether OGS must not be asked now.
    ///
    /// A moment more than an hour away, or one recorded in the future, means that the clock was set back.
    package func isActive(at now: Timestamp) -> Bool {
        now < until && until <= now + .hours(1) && since ?? now <= now + .minutes(1)
    }
}

extension BackOff {
    /// Reads the form that ``members`` writes; `nil` if there is no back-off.
    package init?(_ members: JSONObject) {
        guard let until = members["until"]?.timestamp, let step = members["step"]?.count, step > 0
        else { return nil }
        self.until = until
        self.step = step
        since = members["since"]?.timestamp
    }

    /// `{"until": 1763726400000, "step": 2, "since": 1763726390000}`, moments in milliseconds since 1970.
    package var members: JSONObject {
        var members: JSONObject = ["until": JSONValue(until), "step": .integer(step)]
        members["since"] = since.map { JSONValue($0) }
        return members
    }
}
