import Turnstone

/// When a player's turn comes round, as seen by a run that begins now.
///
/// Slots are an interval apart. A run may be early for a slot or late by ``tolerance``, and the slot after it still comes an
/// interval after this one: neither the jitter of a timer nor the length of a cycle adds up. A run that is later than
/// that begins a new count.
struct Slots {
    private let now: Int64
    private let interval: Int64
    /// Timers are a second or two early or late, so two runs may be four seconds closer than the interval. Runs less
    /// than half an interval apart never look twice.
    private let tolerance: Int64

    init(at now: Timestamp, interval: Interval) {
        self.now = now.milliseconds
        self.interval = interval.milliseconds
        tolerance = min(self.interval / 2, Interval.seconds(5).milliseconds)
    }

    /// The latest moment that this run counts as reached.
    var latest: Int64 { now.saturatingAdd(tolerance) }

    /// The slot that this run is for, in milliseconds since 1970; `nil` while it has not come.
    ///
    /// - Parameter slot: the one before. One in the future is a clock that was set back, and counts as long ago.
    func next(after slot: Int64) -> Int64? {
        guard slot <= latest else { return now }
        let expected = max(0, slot).saturatingAdd(interval)
        guard expected <= latest else { return nil }
        return now - expected <= tolerance ? expected : now
    }
}
