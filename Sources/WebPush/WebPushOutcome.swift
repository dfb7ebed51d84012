import Turnstone

/// The consequence of a message's verdict.
package enum WebPushOutcome: Equatable, Sendable {
    /// The push service accepted the message.
    case accepted
    /// The subscription has ended: the browser has to be registered again.
    case gone
    /// The push service will never accept this message as it is. The subscription may be fine.
    case refused
    /// No message will ever reach this subscription: it was made with another VAPID key, or its public key is
    /// not on the curve.
    case unusable
    /// The push service may accept the same message later. The first retry is after `pause`; later pauses
    /// grow.
    case later(pause: Interval)
    /// The push service may accept the same message after the pause that it asked for (`Retry-After`).
    case laterAsAsked(pause: Interval)
    /// The message was not sent, because its origin (and no other), or its user's browsers there, get nothing
    /// for this long: the push service is busy, out of order, cannot be reached, is not allowed any more, or
    /// refuses our VAPID token. This does not count as an attempt.
    case originPaused(Interval)
    /// It is unknown whether the push service accepted the message. Sent again, it replaces the first one on
    /// the screen if it has a collapse id; otherwise the user may see it twice.
    case noVerdict
    /// The message was certainly not sent. This does not count as an attempt.
    case notSent
}
