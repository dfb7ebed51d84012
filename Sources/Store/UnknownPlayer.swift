import JSON
import Turnstone

/// OGS's answer that it does not know a player. Asking again would only cost OGS time, so the next question
/// waits: a minute, doubling to a day, or to an hour if OGS knew the player before.
package struct UnknownPlayer: Equatable, Sendable {
    package let at: Timestamp
    package let until: Timestamp
    /// How many times in a row.
    package let count: Int64

    package init(at moment: Timestamp, until: Timestamp, count: Int64) {
        at = moment
        self.until = until
        self.count = count
    }

    /// The answer of now.
    package init(after last: UnknownPlayer?, isKnown: Bool, at now: Timestamp) {
        count = min((last?.count ?? 0).saturatingAdd(1), 12)
        at = now
        until = now + Self.pause(after: count, isKnown: isKnown)
    }

    /// - Parameter isKnown: whether OGS has known the player. That may be a mistake of OGS or of the
    ///   configuration.
    package static func pause(after count: Int64, isKnown: Bool) -> Interval {
        let longest: Interval = isKnown ? .hours(1) : .hours(24)
        return min(
            Interval(
                milliseconds: Interval.minutes(1).milliseconds << (min(max(count, 1), 12) - 1)),
            longest)
    }

    /// Whether the next question still waits. One from the future comes from a clock that was ahead.
    package func holds(at now: Timestamp) -> Bool { at <= now && now < until }

    init?(_ members: JSONObject) {
        guard let at = members["at"]?.timestamp, let until = members["until"]?.timestamp else {
            return nil
        }
        self.at = at
        self.until = until
        count = members["count"]?.count ?? 1
    }

    var members: JSONObject {
        ["at": JSONValue(at), "until": JSONValue(until), "count": .integer(count)]
    }
}
