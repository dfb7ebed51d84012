/// How long OGS is not asked after it complained about too many requests, or could not be asked.
package struct BackOff: Equatable, Sendable {
    /// No requests before this moment.
    package let until: Timestamp
    /// How many times in a row there was a reason to pause.
    package let step: Int64
    /// When the pause began; `nil` if an older program recorded it.
    package let since: Timestamp?
    /// A sentence about OGS that says why Turnstone pauses, without its full stop; `nil` if OGS asked for the
    /// pause.
    package let reason: String?

    /// - Parameters:
    ///   - previous: the back-off before this one, if no answer came in between.
    ///   - requested: the pause that OGS asked for (`Retry-After`), at most an hour; otherwise 10 s, doubling
    ///     to 10 min.
    ///   - reason: why Turnstone pauses if OGS did not ask for it.
    package init(
        after previous: BackOff?, requested: Interval?, reason: String? = nil, now: Timestamp
    ) {
        since = now
        self.reason = reason
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
        reason = members["reason"]?.string
    }

    /// The moments in milliseconds since 1970, and the step: `{"until": 1763726400000, "step": 2, "since":
    /// …}`, and the `reason` if there is one.
    package var members: JSONObject {
        var members: JSONObject = ["until": JSONValue(until), "step": .integer(step)]
        members["since"] = since.map { JSONValue($0) }
        members["reason"] = reason.map { .string($0) }
        return members
    }
}
