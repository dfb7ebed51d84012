import Drain
import FCM
import Spool
import Turnstone

extension Verdict {
    init(_ verdict: FCMVerdict, of delivery: Delivery, at moment: Timestamp) {
        let (status, reason) = (verdict.status, verdict.reason)
        func with(_ meaning: Meaning, _ change: RegistrationChange? = nil) -> Verdict {
            Verdict(status: status, reason: reason, meaning: meaning, change: change)
        }
        switch verdict.outcome {
        case .accepted: self = with(.settled(.accepted))
        case .gone(let since): self = with(.settled(.gone), .remove(goneSince: since))
        case .mismatched:
            self = with(.settled(.gone), .remove(goneSince: moment, mayBeOurFault: true))
        case .badToken:
            self = with(.settled(.quarantined), .refuse(isBad: true, at: moment))
        case .foreign: self = with(.settled(.refused), .refuse(isBad: false, at: moment))
        case .refused: self = with(.settled(.refused))
        case .later(let pause): self.init(status, reason, of: delivery, pause)
        case .laterAsAsked(let pause): self.init(status, reason, pause: pause)
        case .noVerdict, .renewToken: self.init(status, reason, of: delivery, .seconds(1))
        case .notSent: self = .notSent(reason)
        case .stopQueue: self = with(.stop)
        }
    }

    /// FCM has no channels.
    static let refusedChannel = Verdict(
        status: nil, reason: "UnsupportedPushType", meaning: .settled(.refused))
}
