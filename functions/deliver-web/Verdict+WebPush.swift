import Drain
import Spool
import Turnstone
import WebPush

extension Verdict {
    /// - Parameter obstacle: what is in the way if the push service did not take the push.
    init(
        _ verdict: WebPushVerdict, of delivery: Delivery, at moment: Timestamp,
        obstacle: Obstacle?
    ) {
        let (status, reason) = (verdict.status, verdict.reason)
        func with(_ meaning: Meaning, _ change: RegistrationChange? = nil) -> Verdict {
            Verdict(status: status, reason: reason, meaning: meaning, change: change)
        }
        switch verdict.outcome {
        case .accepted: self = with(.settled(.accepted))
        case .gone: self = with(.settled(.gone), .remove(goneSince: moment))
        case .unusable:
            self = with(.settled(.quarantined), .refuse(isBad: true, at: moment))
        case .refused: self = with(.settled(.refused))
        case .later(let pause): self.init(status, reason, of: delivery, pause)
        case .laterAsAsked(let pause): self.init(status, reason, pause: pause)
        case .originPaused(let pause): self = .notSent(reason, status: status, for: pause)
        case .noVerdict: self.init(status, reason, of: delivery, .seconds(1))
        case .notSent:
            self = .notSent(reason)
            return
        }
        if case .settled = meaning { return }
        self.obstacle = obstacle
    }

    /// The token is that of another platform.
    static let noSubscription = Verdict(
        status: nil, reason: "BadSubscription", meaning: .settled(.refused))
}
