import Turnstone

/// Keeps the number of messages in any minute below a limit: an allowance grows evenly, up to one second's
/// worth. It begins with nothing, because a run may have ended a moment ago.
struct FCMPace {
    /// One message. The allowance grows by the limit per minute each millisecond.
    private static let unit: Int64 = 60_000
    private let perMinute: Int64
    private let most: Int64
    private var allowance: Int64
    private var last: Instant

    /// - Parameter limit: messages in any minute.
    init(limit: Int, now: Instant) {
        // A minute's growth and a full allowance together are the limit.
        perMinute = max(1, Int64(limit) * 60 / 61)
        most = max(Self.unit, Int64(limit) * Self.unit / 61)
        allowance = 0
        last = now
    }

    /// The number of messages that may be sent now.
    mutating func allowed(now: Instant) -> Int {
        let passed = min(max(0, (now - last).milliseconds), 60_000)
        last = max(last, now)
        allowance = min(most, allowance + passed * perMinute)
        return Int(allowance / Self.unit)
    }

    mutating func spend(_ count: Int) { allowance -= Int64(count) * Self.unit }

    /// When the next message may be sent.
    var next: Instant {
        let missing = max(0, Self.unit - allowance)
        return last + .milliseconds((missing + perMinute - 1) / perMinute)
    }
}
