import Crypto
import JSON
import Turnstone

/// One time that a push service was asked, or what became of a delivery without asking.
package struct Attempt: Equatable, Sendable {
    package let at: Timestamp
    /// `apns-id`; `nil` where nobody was to be asked.
    package let pushID: String?
    /// The HTTP status; `nil` where no answer came.
    package let status: Int?
    /// The push service's reason, or why there was no answer.
    package let reason: String?
    /// `nil` where the delivery has not ended with this.
    package let outcome: Outcome?
    /// Where it has failed and is tried again. `nil` where it only waits.
    package let trouble: Trouble?

    package init(
        at: Timestamp, pushID: String?, status: Int? = nil, reason: String? = nil,
        outcome: Outcome?, trouble: Trouble? = nil
    ) {
        self.at = at
        self.pushID = pushID
        self.status = status
        self.reason = reason
        self.outcome = outcome
        self.trouble = trouble
    }

    /// Whether the push may have arrived though no answer came.
    var isLost: Bool { status == nil && outcome == nil && pushID != nil }
}
