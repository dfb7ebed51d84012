/// How a delivery ended.
package enum Outcome: String, Sendable {
    /// The push service took it.
    case accepted
    /// The push service will never take it.
    case refused
    /// The device is no longer there.
    case gone
    /// The push service does not know the token.
    case quarantined
    /// It expired before the push service took it.
    case expired
    /// It was no longer true or wanted when it was to be sent. The reason says why.
    case superseded
    /// It was cancelled before it was sent.
    case cancelled
    /// The notification's file could not be read.
    case damaged
    /// It waits with the other messages held for the device. Later receipts say what became of it.
    case held

    package static let all = [
        Outcome.accepted, .refused, .gone, .quarantined, .expired, .superseded, .cancelled,
        .damaged, .held,
    ]
}
