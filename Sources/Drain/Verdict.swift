import Spool
import Turnstone
import Unix

/// The answer to a push: the push service's, or the drainer's own if the push is not sent.
package struct Verdict {
    package let status: Int?
    package let reason: String?
    package let meaning: Meaning
    /// How the device's registration changes.
    package var change: RegistrationChange?
    /// Whether the other environment, which may know the token, refused to look it up.
    package var isUncertain = false
    /// Why the push service did not take the push; `nil` if it did, if only this device is the reason, or if it
    /// is only too early.
    package var obstacle: Obstacle?
    /// The kind of failure, if the push failed and is tried again.
    private(set) var kind: FailureKind?

    package enum Meaning {
        case settled(Outcome)
        case later(Interval)
        /// It was not tried, so nothing new is known. It is tried again after this pause, or stays in hand
        /// while nothing at all can be sent.
        case notSent(Interval)
        /// It is now tried in the other environment. Another verdict follows.
        case probing
        /// It waits in hand until a newer push to the same device has its outcome.
        case behind(key: String)
        /// It waits in hand until a document is unlocked.
        case busy
        case stop
    }
}

extension Verdict {
    /// A push that was refused before it was sent.
    package init(refused failure: Failure) {
        status = nil
        reason = failure.cause
        meaning = .settled(.refused)
    }

    /// Whether it was not sent, because it is too large even with its text cut.
    var isTooLarge: Bool { status == nil && reason == "PayloadTooLarge" }

    static let expired = Verdict(status: nil, reason: nil, meaning: .settled(.expired))

    /// - Parameter reason: what has become untrue since the push was accepted, for receipts and reports.
    static func superseded(_ reason: ReceiptReason) -> Verdict {
        Verdict(status: nil, reason: reason.rawValue, meaning: .settled(.superseded))
    }

    /// The device cannot show it. It only ends older messages of its series.
    static let unsuitable = superseded(.unsuitable)

    /// Whether older messages of the push's series end on the device, though it was not sent.
    var endsOlder: Bool { reason == ReceiptReason.unsuitable.rawValue }

    /// Whether this verdict counts if another user of the device has the other verdict and neither gets the
    /// push now. A verdict that may still send the push comes first, the sooner the better, then one that
    /// says that a user has the device.
    func isNearer(than other: Verdict) -> Bool {
        switch (meaning, other.meaning) {
        case (.later(let interval), .later(let earlier)): interval < earlier
        case (.later, _): true
        case (_, .later): false
        default: other.reason == ReceiptReason.unregistered.rawValue
        }
    }

    static let cancelled = Verdict(status: nil, reason: nil, meaning: .settled(.cancelled))

    /// A document or a file that the push needs could not be used.
    static func failed(_ failure: Failure, _ delivery: Delivery) -> Verdict {
        Verdict(nil, failure.cause, of: delivery, .seconds(2))
    }

    /// Its `send_after` is still ahead: the clock was ahead when the push came due.
    static func early(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: ReceiptReason.early.rawValue, meaning: .later(pause))
    }

    /// Whether it is only too early.
    var isEarly: Bool {
        if case .later = meaning { reason == ReceiptReason.early.rawValue } else { false }
    }

    /// The user wants the message later.
    static func waiting(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: ReceiptReason.held.rawValue, meaning: .later(pause))
    }

    /// The user wants the message later, and it stays in the spool. It is checked again after a minute at
    /// most, because nobody reports that the user has changed the preferences.
    static func retained(_ pause: Interval) -> Verdict { .waiting(min(pause, .minutes(1))) }

    /// A document that decides about the push is locked.
    static let busy = Verdict(status: nil, reason: nil, meaning: .busy)

    /// A newer push to the same device is in hand.
    static func behind(key: String) -> Verdict {
        Verdict(status: nil, reason: nil, meaning: .behind(key: key))
    }

    /// A newer push to the same device is tried after a pause.
    static func behind(for pause: Interval) -> Verdict {
        Verdict(status: nil, reason: ReceiptReason.behindNewer.rawValue, meaning: .later(pause))
    }

    /// Another push is under way. Its verdict tells whether this one is still wanted.
    static let soon = Verdict(
        status: nil, reason: ReceiptReason.behindAnother.rawValue, meaning: .later(.seconds(1)))

    /// How long the message is held for its user; `nil` if it is not held.
    var heldFor: Interval? {
        guard case .later(let pause) = meaning, reason == ReceiptReason.held.rawValue else {
            return nil
        }
        return pause
    }

    /// It waits in the device's box.
    static let held = Verdict(status: nil, reason: nil, meaning: .settled(.held))

    package static func notSent(
        _ reason: String?, status: Int? = nil, for pause: Interval = .seconds(5)
    ) -> Verdict {
        Verdict(status: status, reason: reason, meaning: .notSent(pause))
    }

    /// The reason why a push cannot be sent now.
    package enum Obstacle {
        /// The service's state, or the configuration.
        case service
        /// Perhaps only an address that a user has made up.
        case perhapsAddress
    }

    package static let written = Verdict(status: 200, reason: nil, meaning: .settled(.accepted))

    /// The push has failed, and is tried again after a pause.
    ///
    /// - Parameter pause: the pause after the first failure. It doubles with each further failure of the same
    ///   kind.
    package init(_ status: Int?, _ reason: String?, of delivery: Delivery, _ pause: Interval) {
        let kind = FailureKind(pause: pause)
        let interval = backOff(
            pause, attempt: delivery.failures(after: kind).count,
            longest: max(pause, kind.longestPause), random: jitter())
        self.init(status: status, reason: reason, meaning: .later(interval))
        self.kind = kind
    }

    /// The push has failed, and is tried again after a pause that neither grows nor lengthens other pauses.
    package init(_ status: Int?, _ reason: String?, pause: Interval) {
        let interval = backOff(pause, attempt: 1, longest: pause, random: jitter())
        self.init(status: status, reason: reason, meaning: .later(interval))
    }

    package init(
        status: Int?, reason: String?, meaning: Meaning, change: RegistrationChange? = nil
    ) {
        self.status = status
        self.reason = reason
        self.meaning = meaning
        self.change = change
    }
}
