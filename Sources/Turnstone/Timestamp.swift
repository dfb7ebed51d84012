/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Comparable, Hashable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Saturates: a token from outside may claim any moment.
    package init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// Whole seconds since 1970, as APNs and JSON Web Tokens count.
    package var seconds: Int64 { milliseconds / 1000 }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Saturates rather than overflows: a clock from outside may say anything.
    package static func + (moment: Timestamp, interval: Interval) -> Timestamp {
        let (sum, overflow) = moment.milliseconds.addingReportingOverflow(interval.milliseconds)
        guard overflow else { return Timestamp(milliseconds: sum) }
        return Timestamp(milliseconds: interval.milliseconds < 0 ? .min : .max)
    }

    package static func - (moment: Timestamp, interval: Interval) -> Timestamp {
        moment + Interval(milliseconds: -interval.milliseconds)
    }

    package static func - (later: Timestamp, earlier: Timestamp) -> Interval {
        let (difference, overflow) =
            later.milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        guard overflow else { return Interval(milliseconds: difference) }
        return Interval(milliseconds: later < earlier ? .min + 1 : .max)
    }
}

/// A length of time, in milliseconds. (The library's `Duration` is not in Embedded Swift's subset.)
package struct Interval: Comparable, Hashable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func milliseconds(_ count: Int64) -> Interval { Interval(milliseconds: count) }
    package static func seconds(_ count: Int64) -> Interval { Interval(milliseconds: count * 1000) }
    package static func minutes(_ count: Int64) -> Interval { .seconds(count * 60) }
    package static func hours(_ count: Int64) -> Interval { .minutes(count * 60) }
    package static func days(_ count: Int64) -> Interval { .hours(count * 24) }

    package static func < (left: Interval, right: Interval) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
