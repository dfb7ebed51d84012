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

    /// Whole seconds.
    package var seconds: Int64 { milliseconds / 1000 }

    package static func < (left: Interval, right: Interval) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package static func + (left: Interval, right: Interval) -> Interval {
        Interval(milliseconds: left.milliseconds.saturatingAdd(right.milliseconds))
    }

    package static func * (interval: Interval, count: Int64) -> Interval {
        Interval(milliseconds: interval.milliseconds.saturatingMultiply(count))
    }
}
