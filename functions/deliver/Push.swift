import APNs
import Spool
import Turnstone

/// One notification on its way to one device.
struct Push {
    let notification: Notification
    let index: Int
    /// `apns-id`.
    let id: String

    init(_ notification: Notification, _ index: Int) {
        self.notification = notification
        self.index = index
        id = pushID(notification: notification.id, token: notification.deliveries[index].token)
    }

    var delivery: Delivery { notification.deliveries[index] }
}

/// What a push service, or what stands in for one, said to a push.
struct Verdict {
    let status: Int?
    let reason: String?
    let meaning: Meaning
    /// What the device's registration has to learn.
    var change: CleanUp.Change?

    enum Meaning {
        case settled(Delivery.Outcome)
        case later(Interval)
        case stop
    }
}

extension Verdict {
    /// - Parameters:
    ///   - attempt: which one this was: 1 for the first.
    ///   - random: any byte, for the pause until the next.
    init(_ verdict: APNsVerdict, attempt: Int, random: UInt8, at moment: Timestamp) {
        status = verdict.status
        reason = verdict.reason
        switch verdict.outcome {
        case .accepted: meaning = .settled(.accepted)
        case .gone(let since):
            meaning = .settled(.gone)
            change = .remove(goneSince: since)
        case .refused: meaning = .settled(.refused)
        case .quarantined:
            meaning = .settled(.quarantined)
            change = .quarantine(since: moment)
        case .later(let pause):
            meaning = .later(backOff(pause, attempt: attempt, random: random))
        case .noVerdict, .renewToken:
            meaning = .later(backOff(.seconds(1), attempt: attempt, random: random))
        case .stopQueue: meaning = .stop
        }
    }

    /// A push that was refused before it was sent.
    init(refused failure: Failure) {
        status = nil
        reason = failure.cause
        meaning = .settled(.refused)
    }

    static let written = Verdict(status: 200, reason: nil, meaning: .settled(.accepted))

    private init(status: Int, reason: String?, meaning: Meaning) {
        self.status = status
        self.reason = reason
        self.meaning = meaning
    }
}
