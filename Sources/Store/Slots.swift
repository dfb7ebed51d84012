import Turnstone

/// When it is a player's turn to be looked at, as seen by a run that begins now.
///
/// Slots are one interval apart. A run may be early or late for a slot by ``tolerance``, and the next slot
/// still comes one interval after this one: neither a timer's jitter nor a cycle's length adds up. A run that
/// is later than that starts a new count.
struct Slots {
    private let now: Int64
    private let interval: Int64
    /// Timers are a second or two early or late, so two runs may be four seconds closer than the interval.
    /// Runs less than half an interval apart never look twice.
    private let tolerance: Int64

    init(at now: Timestamp, interval: Interval) {
        self.now = now.milliseconds
        self.interval = interval.milliseconds
        tolerance = min(self.interval / 2, Interval.seconds(5).milliseconds)
    }

    /// The latest moment that this run counts as reached.
    var latest: Int64 { now.saturatingAdd(tolerance) }

    /// The slot that this run is for, in milliseconds since 1970; `nil` if it has not come yet.
    ///
    /// - Parameter slot: the previous slot. A slot in the future means that the clock was set back, and
    ///   counts as long ago.
    func next(after slot: Int64) -> Int64? {
        guard slot <= latest else { return now }
        let expected = max(0, slot).saturatingAdd(interval)
        guard expected <= latest else { return nil }
        return now - expected <= tolerance ? expected : now
    }
}
