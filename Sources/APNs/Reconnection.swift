import Turnstone

/// When a connection may be made again.
///
/// APNs may take many in quick succession for an attack.
struct Reconnection {
    /// The ``MonotonicClock``'s milliseconds.
    private(set) var moment: Int64 = 0
    private(set) var reason = ""
    private var failures = 0
    private var hadAnswer = false

    /// Whether the last connection was of no use, so that waiting may take long.
    var isFailing: Bool { failures > 0 }

    mutating func noteSuccess() {
        failures = 0
        hadAnswer = true
    }

    mutating func noteEnd(_ reason: String, now: Int64) {
        guard hadAnswer else { return noteFailure(reason, now: now) }
        hadAnswer = false
        self.reason = reason
        moment = now + 200
    }

    /// Waits as long as somebody else says.
    mutating func notePause(_ reason: String, _ pause: Interval, now: Int64) {
        self.reason = reason
        moment = now + pause.milliseconds
        failures += 1
    }

    /// Doubles the pause, from a second up to a minute.
    mutating func noteFailure(_ reason: String, now: Int64) {
        self.reason = reason
        moment = now + min(60, 1 << Int64(min(failures, 6))) * 1000
        failures += 1
    }
}
