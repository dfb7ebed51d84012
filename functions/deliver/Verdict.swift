import APNs
import Spool
import Turnstone
import Unix

/// The answer to a push: the push service's, or the drainer's own if the push is not sent.
struct Verdict {
    let status: Int?
    let reason: String?
    let meaning: Meaning
    /// How the device's registration changes.
    var change: CleanUp.Change?
    /// Whether the other environment, which may know the token, refused to look it up.
    var isUncertain = false
    /// The kind of failure, if the push failed and is tried again.
    private(set) var trouble: Trouble?

    enum Meaning {
        case settled(Outcome)
        case later(Interval)
        /// It was not tried, so nothing new is known.
        case notSent
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
    init(_ verdict: APNsVerdict, of delivery: Delivery, at moment: Timestamp) {
        let (status, reason) = (verdict.status, verdict.reason)
        func with(_ meaning: Meaning, _ change: CleanUp.Change? = nil) -> Verdict {
            var verdict = Verdict(status: status, reason: reason, meaning: meaning)
            verdict.change = change
            return verdict
        }
        switch verdict.outcome {
        case .accepted: self = with(.settled(.accepted))
        case .gone(let since): self = with(.settled(.gone), .remove(goneSince: since))
        case .refused where reason == "DeviceTokenNotForTopic":
            self = with(.settled(.refused), .refuse(isBad: false, at: moment))
        case .refused: self = with(.settled(.refused))
        case .quarantined:
            self = with(.settled(.quarantined), .refuse(isBad: true, at: moment))
        case .later where reason == "TooManyProviderTokenUpdates":
            // APNs refuses new tokens until 20 minutes are over, and does not say how many are left.
            self.init(status, reason, pause: .minutes(1))
        case .laterAsAsked(let pause): self.init(status, reason, pause: pause)
        case .later(let pause): self.init(status, reason, of: delivery, pause)
        case .noVerdict, .renewToken: self.init(status, reason, of: delivery, .seconds(1))
        case .notSent: self = with(.notSent)
        case .stopQueue: self = with(.stop)
        }
    }

    /// The verdict of a push's own environment, when the push is tried in the other one next.
    static func probing(_ first: Verdict) -> Verdict {
        Verdict(status: first.status, reason: first.reason, meaning: .probing)
    }

    /// The final verdict of a push that was tried in the other environment because its own did not know the
    /// token. The own environment's answer stands, unless the other one accepted the push, may accept it
    /// later, or says that the token is gone.
    func ofProbe(in environment: APNsEnvironment, at moment: Timestamp) -> Verdict {
        var verdict = self
        switch meaning {
        case .settled(.accepted): verdict.change = .move(to: environment)
        case .settled(.gone), .later: break
        case .notSent: verdict = Verdict(status: nil, reason: reason, meaning: .later(.minutes(5)))
        case .settled, .probing, .behind, .busy, .stop:
            verdict = Verdict(
                status: 400, reason: "BadDeviceToken", meaning: .settled(.quarantined))
            verdict.change = .refuse(isBad: true, at: moment)
            if case .settled(.quarantined) = meaning { break }
            verdict.isUncertain = true
        }
        return verdict
    }

    /// A push that was refused before it was sent.
    init(refused failure: Failure) {
        status = nil
        reason = failure.cause
        meaning = .settled(.refused)
    }

    /// The gateway of the environment that is not the installation's own refuses the installation's key,
    /// topic or certificate. Only this delivery ends.
    static func refused(elsewhere verdict: Verdict) -> Verdict {
        Verdict(status: verdict.status, reason: verdict.reason, meaning: .settled(.refused))
    }

    /// The same without asking that gateway, because it has just refused another push.
    static func refused(elsewhere reason: String) -> Verdict {
        Verdict(status: nil, reason: reason, meaning: .settled(.refused))
    }

    static let expired = Verdict(status: nil, reason: nil, meaning: .settled(.expired))

    /// - Parameter reason: what has become untrue since the push was accepted, for receipts and reports.
    static func superseded(_ reason: String) -> Verdict {
        Verdict(status: nil, reason: reason, meaning: .settled(.superseded))
    }

    /// Whether this verdict counts if another user of the device has the other verdict and neither gets the
    /// push now. A verdict that may still send the push comes first, the sooner the better, then one that
    /// says that a user has the device.
    func isNearer(than other: Verdict) -> Bool {
        switch (meaning, other.meaning) {
        case (.later(let interval), .later(let earlier)): interval < earlier
        case (.later, _): true
        case (_, .later): false
        default: other.reason == "unregistered"
        }
    }

    static let cancelled = Verdict(status: nil, reason: nil, meaning: .settled(.cancelled))

    /// A document or a file that the push needs could not be used.
    static func failed(_ failure: Failure, _ delivery: Delivery) -> Verdict {
        Verdict(nil, failure.cause, of: delivery, .seconds(2))
    }

    /// Its `send_after` is still ahead: the clock was ahead when the push came due.
    static func early(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: "before its time", meaning: .later(pause))
    }

    /// The user wants the message later.
    static func waiting(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: "held", meaning: .later(pause))
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
        Verdict(status: nil, reason: "behind a newer one", meaning: .later(pause))
    }

    /// Another push is under way. Its verdict tells whether this one is still wanted.
    static let soon = Verdict(
        status: nil, reason: "behind another one", meaning: .later(.seconds(1)))

    /// How long the message is held for its user; `nil` if it is not held.
    var heldFor: Interval? {
        guard case .later(let pause) = meaning, reason == "held" else { return nil }
        return pause
    }

    /// It waits in the device's box.
    static let held = Verdict(status: nil, reason: nil, meaning: .settled(.held))

    static let notSent = Verdict(status: nil, reason: nil, meaning: .notSent)

    static let written = Verdict(status: 200, reason: nil, meaning: .settled(.accepted))

    /// The push has failed, and is tried again after a pause.
    ///
    /// - Parameter pause: the pause after the first failure. It doubles with each further failure of the same
    ///   kind.
    private init(_ status: Int?, _ reason: String?, of delivery: Delivery, _ pause: Interval) {
        let trouble = Trouble(pause: pause)
        let interval = backOff(
            pause, attempt: delivery.failures(after: trouble).count,
            longest: max(pause, trouble.longestPause), random: jitter())
        self.init(status: status, reason: reason, meaning: .later(interval))
        self.trouble = trouble
    }

    /// The push has failed, and is tried again after a pause that neither grows nor lengthens other pauses.
    private init(_ status: Int?, _ reason: String?, pause: Interval) {
        let interval = backOff(pause, attempt: 1, longest: pause, random: jitter())
        self.init(status: status, reason: reason, meaning: .later(interval))
    }

    private init(status: Int?, reason: String?, meaning: Meaning) {
        self.status = status
        self.reason = reason
        self.meaning = meaning
    }
}
