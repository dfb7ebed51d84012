/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Comparable, Hashable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The beginning of 1970: for documents, a moment that has not come yet.
    package static let never = Timestamp(milliseconds: 0)

    /// The end of the year 9999, the last moment that RFC 3339 can express.
    package static let latest = Timestamp(milliseconds: 253_402_300_799_999)

    /// Saturates: a token from outside may claim any moment.
    package init(seconds: Int64) {
        milliseconds = seconds.saturatingMultiply(1000)
    }

    /// The next number of something whose changes are counted. The first one is this moment's, so that what begins
    /// anew after an erasure never has an old number.
    package func revision(after previous: Int64) -> Int64 {
        previous == 0 ? milliseconds : previous.saturatingAdd(1)
    }

    /// Whole seconds since 1970, as in APNs and JSON Web Tokens.
    package var seconds: Int64 { milliseconds / 1000 }

    /// The latest multiple of a length since 1970, such as the beginning of an hour or of a day.
    package func floor(to length: Interval) -> Timestamp {
        Timestamp(milliseconds: milliseconds / length.milliseconds * length.milliseconds)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Saturates: a clock from outside may say anything.
    package static func + (moment: Timestamp, interval: Interval) -> Timestamp {
        Timestamp(milliseconds: moment.milliseconds.saturatingAdd(interval.milliseconds))
    }

    package static func - (moment: Timestamp, interval: Interval) -> Timestamp {
        Timestamp(milliseconds: moment.milliseconds.saturatingSubtract(interval.milliseconds))
    }

    package static func - (later: Timestamp, earlier: Timestamp) -> Interval {
        Interval(milliseconds: later.milliseconds.saturatingSubtract(earlier.milliseconds))
    }
}
