/// A moment on the monotonic clock, for deadlines and pauses. That clock starts anywhere and is never set.
/// `Instant.now` is in the module Unix.
package struct Instant: Comparable, Hashable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Earlier and later than all other instants.
    package static let first = Instant(milliseconds: .min)
    package static let last = Instant(milliseconds: .max)

    package static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Saturates.
    package static func + (moment: Instant, interval: Interval) -> Instant {
        Instant(milliseconds: moment.milliseconds.saturatingAdd(interval.milliseconds))
    }

    package static func - (later: Instant, earlier: Instant) -> Interval {
        Interval(milliseconds: later.milliseconds.saturatingSubtract(earlier.milliseconds))
    }
}
