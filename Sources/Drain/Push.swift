import Crypto
import Spool
import Store
import Turnstone

/// One notification on its way to one device or channel.
package final class Push {
    package let job: Job
    /// The delivery that it is sent for now.
    var target: Target
    /// The user's own moment for a message, and when the message expires for the user; `nil` if all users
    /// have the same.
    private var turn: (moment: Timestamp, expires: Timestamp)?
    /// When the messages in it expire, if it is a release that also has others.
    private var limit: Timestamp?
    /// The series of the messages in it, if it is a release.
    var brought: [Series] = []
    /// Its own content, if that differs from what the other devices get.
    package private(set) var own: Content?
    /// Its content in its user's language, if the message has texts in several.
    private(set) var variant: Job.Variant?
    /// The alert of another feed that it brings a listener of a session, and the listener's user.
    var foreignAlert: (user: UserID, alert: ForeignAlert)?
    /// The environment in which it is tried once, because its own environment did not know the token.
    package var probe: APNsEnvironment?

    /// The alert that a state has taken over from the other feed of a listener.
    enum ForeignAlert {
        /// The session's push brings the alert of the listener's own state; the number of the newest of these.
        case own(upTo: Int64)
        /// The listener's own push brings the session's alert of this number.
        case session(Int64)
    }

    struct Target {
        fileprivate(set) var delivery: Delivery
        /// The delivery as it is in the notification's file; `nil` if it was not changed.
        fileprivate var stored: Delivery?
        /// `apns-id`.
        fileprivate(set) var id: String
        /// The ids of the devices that were merged into this one, first the id that stands for all of them;
        /// empty if none were.
        fileprivate var merged: [String] = []

        fileprivate mutating func change(_ work: (inout Delivery) -> Void) {
            if stored == nil { stored = delivery }
            work(&delivery)
        }
    }

    package struct Content {
        let push: PushContent
        let expires: Timestamp
    }

    init(_ job: Job, _ delivery: Delivery) {
        self.job = job
        target = Target(delivery: delivery, id: Self.id(job, delivery))
    }

    private static func id(_ job: Job, _ delivery: Delivery) -> String {
        let notification = job.notification.id
        return switch delivery.aim {
        case .device(let token): pushID(notification: notification, token: token)
        case .channel(let channel): pushID(notification: notification, channel: channel)
        }
    }

    package var delivery: Delivery { target.delivery }

    // Copying a whole delivery for one of its members would be expensive.
    package var aim: Delivery.Aim { target.delivery.aim }
    package var badge: Int? { target.delivery.badge }

    /// The user of the device; `nil` if that is not known.
    package var user: UserID? { job.file.user(of: target.delivery) }

    /// `apns-id`, the same at every attempt.
    package var id: String { target.id }

    /// The delivery as it is in the notification's file.
    var original: Delivery { target.stored ?? target.delivery }

    /// The device's id in receipts; `nil` for a channel.
    var device: String? { target.delivery.device }

    /// The present id of the device that gets it.
    var receiver: String? { target.merged.first ?? device }

    /// Whether the device also stands for others that were merged into it.
    var isMerged: Bool { !target.merged.isEmpty }

    /// All ids under which the receiving device appears in receipts.
    var receiverIDs: [String] { isMerged ? target.merged : device.map { [$0] } ?? [] }

    /// Sends it to the same device for another user.
    func replace(by alternate: Delivery) {
        let replaced = original.replaced(by: alternate)
        target.change { $0 = replaced }
        target.id = Self.id(job, delivery)
    }

    /// Sends it to the device's present token and environment.
    func redirect(to device: Device) {
        target.merged = device.standsForOthers ? device.ids : []
        let token = delivery.token
        // It may have been registered anew since, under another id.
        if token != device.token || delivery.deviceID != device.firstID, let former = self.device,
            !device.ids.contains(former)
        {
            target.merged = device.ids + [former]
        }
        // Most devices have not changed, and a copy is expensive.
        if delivery.environment != device.environment {
            target.change { $0.environment = device.environment }
        }
        guard token != device.token else { return }
        target.change { $0.redirect(to: device.token) }
        target.id = Self.id(job, delivery)
    }

    func setBadge(_ badge: Int64) { target.change { $0.badge = Int(clamping: badge) } }

    /// Records which messages of a release it brings.
    ///
    /// - Parameter replaced: the ids of those that the messages replace.
    func bring(_ messages: [String], hiding replaced: [String] = []) {
        target.change {
            $0.brings = messages
            $0.hides = replaced
        }
    }

    /// Lets it expire before its notification does.
    func limit(to moment: Timestamp) { limit = moment }

    /// Loads content that only this device gets. It may be sent again after the other devices' pushes.
    func load(_ content: PushContent, expires: Timestamp) {
        own = Content(push: content, expires: expires)
    }

    /// Chooses the texts of a message for a reader of a language; `nil` if it is not known.
    func translate(for language: LanguageTag?) throws(Failure) {
        variant = try job.variant(for: language)
    }

    /// The language of its text, if the message has texts in several.
    package var language: LanguageTag? {
        own == nil ? variant?.language ?? job.language : nil
    }

    package var content: PushContent { own?.push ?? variant?.push ?? job.notification.push }

    /// The provider's encoding of its content, to be used for all devices that get the same.
    package var encoded: AnyObject? {
        get { variant.map { $0.encoded } ?? job.encoded }
        set { if let variant { variant.encoded = newValue } else { job.encoded = newValue } }
    }

    package var expires: Timestamp {
        own?.expires ?? turn?.expires ?? limit ?? job.notification.expires
    }

    /// When nothing of it can be sent any more, whatever is known by then; `nil` if each look decides that anew:
    /// with the games of then, or an activity's newest state.
    var end: Timestamp? {
        switch job.notification.cargo {
        case .release: job.notification.expires
        case nil where job.notification.turns == nil: expires
        default: nil
        }
    }

    /// Sets the user's own moment for a message, and when the message expires for the user.
    func setTurn(_ moment: Timestamp, expires: Timestamp) { turn = (moment, expires) }

    /// When the message expires if it is held until a moment.
    func end(heldUntil moment: Timestamp) -> Timestamp {
        message.end(heldUntil: moment)
    }

    /// The message with its user's own moment, if it has one.
    var message: Notification {
        var message = job.notification
        guard let turn else { return message }
        message.notBefore = turn.moment
        message.expires = turn.expires
        message.delayed = nil
        message.life = nil
        return message
    }

    /// The environment to send it to; `nil` for the configured one.
    package var environment: APNsEnvironment? { probe ?? target.delivery.environment }

    /// The environment that the device is registered for; `nil` for the configured one.
    package var registeredEnvironment: APNsEnvironment? { target.delivery.environment }

    /// The payload that the app receives.
    package var payload: Payload {
        let common = content.payload
        return delivery.badge.map { common.with(badge: Int64($0)) } ?? common
    }
}
