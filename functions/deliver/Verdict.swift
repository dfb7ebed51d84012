import APNs
import Crypto
import Spool
import Turnstone
import Unix

/// What a push service, or what stands in for one, said to a push.
struct Verdict {
    let status: Int?
    let reason: String?
    let meaning: Meaning
    /// What the device's registration has to learn.
    var change: CleanUp.Change?
    /// Whether the other environment, which may know the token, refused to look.
    var isUncertain = false
    /// Where it has failed and is tried again.
    private(set) var trouble: Trouble?

    enum Meaning {
        case settled(Outcome)
        case later(Interval)
        /// It was not tried: nothing is known that was not known before.
        case notSent
        /// It is tried in the other environment now: another verdict will follow.
        case probing
        /// It waits in hand until a newer one to the same device has its outcome.
        case behind(key: String)
        /// It waits in hand until somebody lets go of a document.
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
            // It lasts for the rest of 20 minutes, and APNs does not say how long that is.
            self.init(status, reason, pause: .minutes(1))
        case .laterAsAsked(let pause): self.init(status, reason, pause: pause)
        case .later(let pause): self.init(status, reason, of: delivery, pause)
        case .noVerdict, .renewToken: self.init(status, reason, of: delivery, .seconds(1))
        case .notSent: self = with(.notSent)
        case .stopQueue: self = with(.stop)
        }
    }

    /// The verdict of a push's own environment, after which it is tried in the other one.
    static func probing(_ first: Verdict) -> Verdict {
        Verdict(status: first.status, reason: first.reason, meaning: .probing)
    }

    /// What it means when it is the answer of the environment where the token was tried because its own one
    /// did not know it: that one's answer stands, unless the push was taken, or may be later.
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

    /// The gateway of an environment that is not the installation's own refuses the installation's key, topic
    /// or certificate: only this delivery is over.
    static func refused(elsewhere verdict: Verdict) -> Verdict {
        Verdict(status: verdict.status, reason: verdict.reason, meaning: .settled(.refused))
    }

    /// The same without asking that gateway, which has just refused another push.
    static func refused(elsewhere reason: String) -> Verdict {
        Verdict(status: nil, reason: reason, meaning: .settled(.refused))
    }

    static let expired = Verdict(status: nil, reason: nil, meaning: .settled(.expired))

    /// - Parameter reason: for receipts and reports: what has become untrue since it was accepted.
    static func superseded(_ reason: String) -> Verdict {
        Verdict(status: nil, reason: reason, meaning: .settled(.superseded))
    }

    /// Of two users of a device neither of whom gets a push now: whether this one's verdict counts rather
    /// than the other's. First what may still send it, then what says that a user has the device.
    func isNearer(than other: Verdict) -> Bool {
        switch (meaning, other.meaning) {
        case (.later(let interval), .later(let earlier)): interval < earlier
        case (.later, _): true
        case (_, .later): false
        default: other.reason == "unregistered"
        }
    }

    static let cancelled = Verdict(status: nil, reason: nil, meaning: .settled(.cancelled))

    /// A document or a file that it needs could not be used.
    static func failed(_ failure: Failure, _ delivery: Delivery) -> Verdict {
        Verdict(nil, failure.cause, of: delivery, .seconds(2))
    }

    /// Its `send_after` is still ahead. The clock showed a later time when it came due.
    static func early(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: "before its time", meaning: .later(pause))
    }

    /// The user does not want to be told yet.
    static func waiting(_ pause: Interval) -> Verdict {
        Verdict(status: nil, reason: "held", meaning: .later(pause))
    }

    /// The user does not want to be told yet, and it stays where it is. Nobody tells when the user has
    /// changed that.
    static func retained(_ pause: Interval) -> Verdict { .waiting(min(pause, .minutes(1))) }

    /// Somebody has locked a document that decides about it.
    static let busy = Verdict(status: nil, reason: nil, meaning: .busy)

    /// A newer one to the same device is in hand.
    static func behind(key: String) -> Verdict {
        Verdict(status: nil, reason: nil, meaning: .behind(key: key))
    }

    /// A newer one to the same device is tried after a pause.
    static func behind(for pause: Interval) -> Verdict {
        Verdict(status: nil, reason: "behind a newer one", meaning: .later(pause))
    }

    /// Another push is under way whose verdict tells whether this one is still wanted.
    static let soon = Verdict(
        status: nil, reason: "behind another one", meaning: .later(.seconds(1)))

    /// How long the user does not want to be told.
    var heldFor: Interval? {
        guard case .later(let pause) = meaning, reason == "held" else { return nil }
        return pause
    }

    /// It waits in the device's box.
    static let held = Verdict(status: nil, reason: nil, meaning: .settled(.held))

    static let notSent = Verdict(status: nil, reason: nil, meaning: .notSent)

    static let written = Verdict(status: 200, reason: nil, meaning: .settled(.accepted))

    /// It has failed, and is tried again after a pause.
    ///
    /// - Parameters:
    ///   - pause: doubled with each failure that comes after one of its kind.
    private init(_ status: Int?, _ reason: String?, of delivery: Delivery, _ pause: Interval) {
        let trouble = Trouble(pause: pause)
        let interval = backOff(
            pause, attempt: delivery.failures(after: trouble).count,
            longest: max(pause, trouble.longestPause), random: jitter())
        self.init(status: status, reason: reason, meaning: .later(interval))
        self.trouble = trouble
    }

    /// It has failed, and is tried again after a pause that does not grow, nor lets others grow.
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
