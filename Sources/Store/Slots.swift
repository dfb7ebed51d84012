import Turnstone

/// When it is a player's turn to be looked at, as seen by a run that begins now.
///
/// Slots are one interval apart. A run may be early or late for a slot by ``tolerance``, and the next slot
/// still comes one interval after this one: neither a timer's jitter nor a cycle's length adds up. A run that
/// is later than that starts a new count.
struct Slots {
    private let now: Timestamp
    private let interval: Interval
    /// Timers are a second or two early or late, so two runs may be four seconds closer than the interval.
    /// Runs less than half an interval apart never look twice.
    private let tolerance: Interval
    /// How far a run on another machine may be ahead of this one.
    private let skew: Interval

    /// - Parameter skew: how far the clocks of the machines that look may differ.
    init(at now: Timestamp, interval: Interval, skew: Interval = .seconds(0)) {
        self.now = now
        self.interval = interval
        self.skew = skew
        tolerance = min(.milliseconds(interval.milliseconds / 2), .seconds(5))
    }

    /// The latest moment that this run counts as reached.
    var latest: Timestamp { now + tolerance }

    /// The slot that this run is for; `nil` if it has not come yet.
    ///
    /// - Parameter slot: the previous slot. A slot further in the future than another machine's clock may be
    ///   means that the clock was set back, and counts as long ago.
    func next(after slot: Timestamp) -> Timestamp? {
        guard slot <= latest + skew else { return now }
        let expected = max(.never, slot) + interval
        guard expected <= latest else { return nil }
        return now - expected <= tolerance ? expected : now
    }
}
