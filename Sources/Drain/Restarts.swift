import Turnstone
import Unix

/// When a queue that has work gets a drainer again after one has ended.
struct Restarts {
    /// No drainer is started before this moment.
    private(set) var next = Instant.first
    private var pause = shortestPause
    /// Why the last drainer has failed; `nil` if it has not.
    private(set) var failure: Failure?

    /// When the last drainer has ended.
    private(set) var lastEnd = Instant.first

    private static let shortestPause = Interval.seconds(1)
    /// A failure may be over soon: a network that is back, or a corrected configuration.
    private static let pauseAfterFailure = Interval.seconds(30)

    /// A drainer has ended. One that could do nothing is followed by the next one after a pause that doubles
    /// up to a minute.
    mutating func ended(doingNothing: Bool, _ failure: Failure? = nil) {
        self.failure = failure
        lastEnd = .now
        pause = doingNothing ? min(pause + pause, .minutes(1)) : Self.shortestPause
        next = .now + (failure == nil ? pause : max(pause, Self.pauseAfterFailure))
    }
}
