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
    /// Its time was over before the push service took it.
    case expired
    /// It was no longer true or wanted when it was to be sent: the reason says why.
    case superseded
    /// It was called off before it was sent.
    case cancelled
    /// The notification's file could not be read.
    case damaged
    /// It waits with whatever else is held for the device: other receipts tell what became of it.
    case held

    package static let all = [
        Outcome.accepted, .refused, .gone, .quarantined, .expired, .superseded, .cancelled,
        .damaged, .held,
    ]
}
