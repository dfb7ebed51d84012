import APNs
import Crypto
import Spool
import Store
import Turnstone
import Unix

/// One notification on its way to one device or channel.
struct Push {
    let job: Job
    private(set) var delivery: Delivery
    /// As it is in the notification's file, where that is not what is sent: most pushes are copied a dozen times as
    /// they are.
    private var stored: Delivery?
    /// `apns-id`.
    private(set) var id: String
    /// The ids of the devices that have become one with the delivery's, the one that stands for all of them first; empty where
    /// it stands for itself.
    private var merged: [String] = []
    /// What the messages that it brings are states of.
    var brought: [Series] = []
    /// What it sends, where that is not what its notification sends to others.
    private(set) var own: Content?
    /// Where it is tried once after its own environment did not know the token.
    var probe: APNsEnvironment?

    init(_ job: Job, _ delivery: Delivery) {
        self.job = job
        self.delivery = delivery
        id = Self.id(job, delivery)
    }

    private static func id(_ job: Job, _ delivery: Delivery) -> String {
        let notification = job.notification.id
        return switch delivery.aim {
        case .device(let token): pushID(notification: notification, token: token)
        case .channel(let channel): pushID(notification: notification, channel: channel)
        }
    }

    /// As it is in the notification's file.
    var original: Delivery { stored ?? delivery }

    private mutating func change(_ work: (inout Delivery) -> Void) {
        if stored == nil { stored = delivery }
        work(&delivery)
    }

    /// The device as receipts name it; `nil` where it is for a channel.
    var device: String? { delivery.device }

    /// The device that gets it, by the id that it has now.
    var receiver: String? { merged.first ?? device }

    /// Whether the device stands for others, too.
    var isMerged: Bool { !merged.isEmpty }

    /// All ids under which receipts name it.
    var receiverIDs: [String] { merged.isEmpty ? device.map { [$0] } ?? [] : merged }

    /// Sends it to the same device for another user.
    mutating func replace(by alternate: Delivery) {
        let replaced = original.replaced(by: alternate)
        change { $0 = replaced }
        id = Self.id(job, delivery)
    }

    /// Sends it to the token and in the environment that the device has now.
    mutating func redirect(to device: Device) {
        merged = device.standsForOthers ? device.ids : []
        change { $0.environment = device.environment }
        guard delivery.token != device.token else { return }
        change { $0.redirect(to: device.token) }
        id = Self.id(job, delivery)
    }

    mutating func setBadge(_ badge: Int64) { change { $0.badge = Int(clamping: badge) } }

    /// Says which messages of a release it brings.
    mutating func bring(_ messages: [String]) { change { $0.brings = messages } }

    final class Content {
        let push: PushContent
        let expires: Timestamp

        init(_ push: PushContent, expires: Timestamp) {
            self.push = push
            self.expires = expires
        }
    }

    /// Sends something else than what others get: it may be sent again after theirs.
    mutating func load(_ content: PushContent, expires: Timestamp) {
        own = Content(content, expires: expires)
    }

    var content: PushContent { own?.push ?? job.notification.push }

    var expires: Timestamp { own?.expires ?? job.notification.expires }

    /// Where it is sent; `nil` where the configured environment counts.
    var environment: APNsEnvironment? { probe ?? delivery.environment }

    /// What the app receives.
    var payload: JSONValue {
        let common = content.payload
        guard let badge = delivery.badge, var members = common.object,
            var aps = members["aps"]?.object
        else { return common }
        aps["badge"] = .integer(Int64(badge))
        members["aps"] = .object(aps)
        return .object(members)
    }

    /// The same as APNs takes it.
    func encodedPayload() throws(Failure) -> APNsPayload {
        let content = content
        guard let type = PushType(rawValue: content.type) else {
            throw Failure(
                .refused(.malformed), "unable to push: unknown push type", cause: "InvalidPushType")
        }
        if own != nil { return try APNsPayload(content.payload, type: type) }
        if let badge = delivery.badge {
            let badged = job.badgedPayload ?? APNsBadgedPayload(content.payload, type: type)
            job.badgedPayload = badged
            return try badged.payload(badge: badge)
        }
        if let common = job.payload { return common }
        let limit = delivery.token == nil ? PushType.broadcastLimit : nil
        let encoded = try APNsPayload(content.payload, type: type, limit: limit)
        job.payload = encoded
        return encoded
    }
}

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
            self = with(.settled(.refused), .noteRefusal(isBad: false, at: moment))
        case .refused: self = with(.settled(.refused))
        case .quarantined:
            self = with(.settled(.quarantined), .noteRefusal(isBad: true, at: moment))
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

    /// What it means when it is the answer of the environment where the token was tried because its own one did
    /// not know it: that one's answer stands, unless the push was taken, or may be later.
    func ofProbe(in environment: APNsEnvironment, at moment: Timestamp) -> Verdict {
        var verdict = self
        switch meaning {
        case .settled(.accepted): verdict.change = .move(to: environment)
        case .settled(.gone), .later: break
        case .notSent: verdict = Verdict(status: nil, reason: reason, meaning: .later(.minutes(5)))
        case .settled, .probing, .behind, .busy, .stop:
            verdict = Verdict(
                status: 400, reason: "BadDeviceToken", meaning: .settled(.quarantined))
            verdict.change = .noteRefusal(isBad: true, at: moment)
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

    /// The gateway of an environment that is not the installation's own refuses the installation's key, topic or
    /// certificate: only this delivery is over.
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

    /// Of two users of a device neither of whom gets a push now: whether this one's verdict counts rather than the
    /// other's. First what may still send it, then what says that a user has the device.
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

    /// The user does not want to be told yet, and it stays where it is. Nobody tells when the user has changed that.
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
