import Turnstone

/// A pause after turn notices that reached no device, so that a device that refuses every push does not get
/// one after each look.
package struct Silence: Equatable {
    package let count: Int64
    package let until: Timestamp

    /// - Parameter last: the previous pause. The first lasts 1 minute, and each one twice as long as the one
    ///   before, up to a day.
    init(after last: Silence?, at now: Timestamp) {
        count = min((last?.count ?? 0) + 1, 12)
        let pause = min(
            Interval.minutes(1).milliseconds << (count - 1), Interval.days(1).milliseconds)
        until = now + .milliseconds(pause)
    }

    init?(_ members: JSONObject) {
        guard let count = members["count"]?.integer, let until = members["until"]?.timestamp else {
            return nil
        }
        self.count = min(max(count, 1), 12)
        self.until = until
    }

    var members: JSONObject { ["count": .integer(count), "until": JSONValue(until)] }

    /// Whether no notice may be queued at this moment.
    package func holds(at now: Timestamp) -> Bool {
        now < until && until - now <= .days(1)
    }
}
