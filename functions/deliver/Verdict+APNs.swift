import APNs
import Drain
import Spool
import Turnstone

extension Verdict {
    init(_ verdict: APNsVerdict, of delivery: Delivery, at moment: Timestamp) {
        let (status, reason) = (verdict.status, verdict.reason)
        func with(_ meaning: Meaning, _ change: RegistrationChange? = nil) -> Verdict {
            Verdict(status: status, reason: reason, meaning: meaning, change: change)
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
        case .notSent: self = .notSent(reason)
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
        case .notSent:
            // Its own environment has answered: the push cannot have arrived.
            let sentence =
                "BadDeviceToken; the other environment was not asked: \(reason ?? "unknown")"
            verdict = Verdict(status: 400, reason: sentence, meaning: .later(.minutes(5)))
        case .settled, .probing, .behind, .busy, .stop:
            verdict = Verdict(
                status: 400, reason: "BadDeviceToken", meaning: .settled(.quarantined))
            verdict.change = .refuse(isBad: true, at: moment)
            if case .settled(.quarantined) = meaning { break }
            verdict.isUncertain = true
        }
        return verdict
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
}
