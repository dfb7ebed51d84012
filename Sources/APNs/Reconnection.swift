import Turnstone

/// When a connection may be made again.
///
/// APNs may take many in quick succession for an attack.
struct Reconnection {
    private(set) var moment = Instant.first
    private(set) var reason = ""
    private var failures = 0
    private var hadAnswer = false

    /// Whether the last connection was of no use, so that waiting may take long.
    var isFailing: Bool { failures > 0 }

    mutating func didSucceed() {
        failures = 0
        hadAnswer = true
    }

    mutating func didEnd(_ reason: String, now: Instant) {
        guard hadAnswer else { return didFail(reason, now: now) }
        hadAnswer = false
        self.reason = reason
        moment = now + .milliseconds(200)
    }

    /// Waits as long as somebody else says.
    mutating func pause(_ reason: String, _ pause: Interval, now: Instant) {
        self.reason = reason
        moment = now + pause
        failures += 1
    }

    /// Doubles the pause, from a second up to a minute.
    mutating func didFail(_ reason: String, now: Instant) {
        self.reason = reason
        moment = now + .seconds(min(60, 1 << Int64(min(failures, 6))))
        failures += 1
    }
}
