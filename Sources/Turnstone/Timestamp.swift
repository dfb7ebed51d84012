/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Comparable, Hashable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Saturates: a token from outside may claim any moment.
    package init(seconds: Int64) {
        milliseconds = seconds.saturatingMultiply(1000)
    }

    /// Whole seconds since 1970, as in APNs and JSON Web Tokens.
    package var seconds: Int64 { milliseconds / 1000 }

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

/// A length of time, in milliseconds. (The standard library's `Duration` is not available in Embedded Swift.)
package struct Interval: Comparable, Hashable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func milliseconds(_ count: Int64) -> Interval { Interval(milliseconds: count) }
    /// Saturates, like all of these: a push service or Online-Go.com may ask for any pause.
    package static func seconds(_ count: Int64) -> Interval {
        Interval(milliseconds: count.saturatingMultiply(1000))
    }
    package static func minutes(_ count: Int64) -> Interval {
        .seconds(count.saturatingMultiply(60))
    }
    package static func hours(_ count: Int64) -> Interval {
        .minutes(count.saturatingMultiply(60))
    }
    package static func days(_ count: Int64) -> Interval { .hours(count.saturatingMultiply(24)) }

    package static func < (left: Interval, right: Interval) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (left: Interval, right: Interval) -> Interval {
        Interval(milliseconds: left.milliseconds.saturatingAdd(right.milliseconds))
    }
}
