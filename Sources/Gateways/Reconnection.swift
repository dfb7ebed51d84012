import Turnstone

/// The time of the next connection attempt.
///
/// A push service may take many connections in quick succession for an attack.
package struct Reconnection {
    package private(set) var nextAttempt = Instant.first
    package private(set) var reason = ""
    private var failures = 0
    private var hadAnswer = false

    package init() {}

    /// Whether the last connection failed or had no answer, so that the pause may be long.
    package var isFailing: Bool { failures > 0 }

    package mutating func didSucceed() {
        failures = 0
        hadAnswer = true
    }

    package mutating func didEnd(_ reason: String, now: Instant) {
        guard hadAnswer else { return didFail(reason, now: now) }
        hadAnswer = false
        self.reason = reason
        nextAttempt = now + .milliseconds(200)
    }

    /// Records a failure after which the caller chooses the pause.
    package mutating func pause(_ reason: String, _ pause: Interval, now: Instant) {
        self.reason = reason
        nextAttempt = now + pause
        failures += 1
    }

    /// Records a failure. The pause doubles with each, from one second up to a minute.
    package mutating func didFail(_ reason: String, now: Instant) {
        self.reason = reason
        nextAttempt = now + .seconds(min(60, 1 << Int64(min(failures, 6))))
        failures += 1
    }
}
