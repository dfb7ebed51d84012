import Turnstone

/// The consequence of a message's verdict.
package enum FCMOutcome: Equatable, Sendable {
    /// FCM accepted the message, under this name (`projects/…/messages/…`) if the answer could be read.
    case accepted(name: String?)
    /// `UNREGISTERED`: the token is dead. FCM does not say since when; `since` is the time of the answer.
    case gone(since: Timestamp)
    /// `SENDER_ID_MISMATCH`: the token belongs to another project. It will never work here.
    case mismatched
    /// `INVALID_ARGUMENT` about `message.token`: no FCM token at all. It will never work.
    case badToken
    /// `THIRD_PARTY_AUTH_ERROR`: the token is that of an iOS or web app of the project, for which Google has
    /// no key. Other tokens are not concerned.
    case foreign
    /// FCM will never accept this message as it is. The device may be fine.
    case refused
    /// FCM may accept the same message later. The first retry is after `pause`, the next ones after longer
    /// ones.
    case later(pause: Interval)
    /// FCM may accept the same message after the pause that it asked for (`Retry-After`), which does not
    /// grow.
    case laterAsAsked(pause: Interval)
    /// FCM accepts nothing from this project or account until an operator fixes it.
    case stopQueue
    /// FCM does not accept the access token any more. The sender gets a new one and sends the message again.
    /// If that fails, the caller gets ``notSent``.
    case renewToken
    /// It is unknown whether FCM accepted the message. A message has no id of ours, so the device may show a
    /// repetition; its tag makes the repetition replace the first one on the screen.
    case noVerdict
    /// FCM has certainly not processed the message. This does not count as an attempt.
    case notSent
}
