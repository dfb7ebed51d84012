import Turnstone

/// An attempt to push to one device, or an outcome that needed no push.
package struct Attempt: Equatable, Sendable {
    package let at: Timestamp
    /// `apns-id`; `nil` if no push was sent.
    package let pushID: String?
    /// The HTTP status; `nil` if there was no answer.
    package let status: Int?
    /// The push service's reason, or why there was no answer.
    package let reason: String?
    /// How the delivery ended; `nil` if it has not ended.
    package let outcome: Outcome?
    /// The kind of failure if the delivery failed and is tried again; `nil` if it only waits.
    package let kind: FailureKind?
    /// The language of the push's text, if the message has texts in several.
    package let language: LanguageTag?

    @export(interface)
    package init(
        at: Timestamp, pushID: String?, status: Int? = nil, reason: String? = nil,
        outcome: Outcome?, kind: FailureKind? = nil, language: LanguageTag? = nil
    ) {
        self.at = at
        self.pushID = pushID
        self.status = status
        self.reason = reason
        self.outcome = outcome
        self.kind = kind
        self.language = language
    }

    /// The outcome of the messages that a release's messages replace; `nil` if they have none yet: after a
    /// refusal they are sent without the messages that were refused.
    var ofHidden: Attempt? {
        switch outcome {
        case .accepted:
            Attempt(at: at, pushID: nil, reason: ReceiptReason.newer.rawValue, outcome: .superseded)
        case .gone, .quarantined: Attempt(at: at, pushID: nil, reason: reason, outcome: outcome)
        default: nil
        }
    }

    /// Whether the push may have arrived although no answer came.
    var isLost: Bool { status == nil && outcome == nil && pushID != nil }
}
