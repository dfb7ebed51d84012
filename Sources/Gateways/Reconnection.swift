import Turnstone

/// The time of the next connection attempt.
///
/// A push service may take many connections in quick succession for an attack.
package struct Reconnection {
    package private(set) var nextAttempt = Instant.first
    package private(set) var reason = ""
    private var failures = 0
    /// When the last of those failures was recorded: connections that were opened before it count with it.
    private var lastFailure: Instant?
    private var hadAnswer = false
    /// When the server ended a connection without an answer, if that was since the last answer.
    private var sentAway: Instant?

    package init() {}

    /// Whether the last connection failed or had no answer, so that the pause may be long.
    package var isFailing: Bool { failures > 0 }

    package mutating func didSucceed() {
        failures = 0
        lastFailure = nil
        hadAnswer = true
        sentAway = nil
    }

    /// Records a connection's end.
    ///
    /// - Parameter isSentAway: whether the server said that it takes no more requests (GOAWAY).
    package mutating func didEnd(_ reason: String, isSentAway: Bool = false, now: Instant) {
        guard hadAnswer else {
            return didEndUnanswered(reason, isSentAway: isSentAway, now: now)
        }
        hadAnswer = false
        pauseBriefly(reason, now: now)
    }

    /// Records the end of a connection on which no answer came.
    ///
    /// A server that says GOAWAY can be reached, and another one may take its place. So this is a failure
    /// only if a connection that was opened after such an end has it, too.
    ///
    /// - Parameter opened: when the connection was opened, if there may be several at a time.
    package mutating func didEndUnanswered(
        _ reason: String, isSentAway: Bool, opened: Instant = .last, now: Instant
    ) {
        // Those that were open together count once.
        if let lastFailure, opened <= lastFailure { return }
        guard isSentAway, !isFailing, sentAway.map({ opened <= $0 }) ?? true else {
            return didFail(reason, now: now)
        }
        sentAway = sentAway ?? now
        pauseBriefly(reason, now: now)
    }

    private mutating func pauseBriefly(_ reason: String, now: Instant) {
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
        lastFailure = now
    }
}
