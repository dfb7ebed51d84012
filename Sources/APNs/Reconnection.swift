import Turnstone

/// The time of the next connection attempt.
///
/// APNs may take many connections in quick succession for an attack.
struct Reconnection {
    private(set) var nextAttempt = Instant.first
    private(set) var reason = ""
    private var failures = 0
    private var hadAnswer = false

    /// Whether the last connection failed or had no answer, so that the pause may be long.
    var isFailing: Bool { failures > 0 }

    mutating func didSucceed() {
        failures = 0
        hadAnswer = true
    }

    mutating func didEnd(_ reason: String, now: Instant) {
        guard hadAnswer else { return didFail(reason, now: now) }
        hadAnswer = false
        self.reason = reason
        nextAttempt = now + .milliseconds(200)
    }

    /// Records a failure after which the caller chooses the pause.
    mutating func pause(_ reason: String, _ pause: Interval, now: Instant) {
        self.reason = reason
        nextAttempt = now + pause
        failures += 1
    }

    /// Records a failure. The pause doubles with each, from one second up to a minute.
    mutating func didFail(_ reason: String, now: Instant) {
        self.reason = reason
        nextAttempt = now + .seconds(min(60, 1 << Int64(min(failures, 6))))
        failures += 1
    }
}
