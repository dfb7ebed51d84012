/// A notification's way to one device, or to all listeners of a channel.
package struct Delivery: Equatable, Sendable {
    package enum Aim: Hashable, Sendable {
        case device(DeviceToken)
        case channel(ChannelID)
    }

    /// Its index among the notification's devices, from 0. Receipts name it by this; the spool assigns it.
    package var number = 0
    /// Whether it is an alternate: for another user of a device that the notification goes to already. It has
    /// the number of that delivery, and is used if that delivery's user no longer has the device or does not
    /// want the notification.
    package private(set) var isAlternate = false
    package var aim: Aim
    /// The push service that brings it.
    package let service: PushService
    /// The device's id in receipts; `nil` if that is the token's ``DeviceToken/publicID``.
    package var deviceID: String?
    package var environment: APNsEnvironment?
    /// The device's user, if the notification does not name one.
    package var user: UserID?
    /// Replaces the `badge` of the payload's `aps`.
    package var badge: Int?
    /// The stamp of the user's document when the delivery was accepted; without a user, that of the token's
    /// document. While the document has this stamp, the delivery stands as it was decided. `nil` if it must
    /// be decided again in any case.
    package var stamp: Int64?
    /// Whether the push service has accepted a push to the device before. Such devices come first, because a
    /// service lowers its limits after errors.
    package var isProven: Bool
    /// How many times in a row it has failed in the same way; `nil` before the first failure.
    package var failures: Failures?
    /// Whether the answer to an attempt was lost, so that the push may have arrived.
    package var isInDoubt = false
    /// The messages of a release that the push brings; `nil` if they are those that the notification names.
    package var brings: [String]?
    /// The messages of a release that are replaced by those that the push brings.
    package var hides: [String] = []

    package init(
        token: DeviceToken, of service: PushService = .apns, id: String? = nil,
        environment: APNsEnvironment?, user: UserID? = nil, badge: Int? = nil,
        isProven: Bool = false
    ) {
        aim = .device(token)
        self.service = service
        deviceID = id
        self.environment = environment
        self.user = user
        self.badge = badge
        self.isProven = isProven
    }

    package init(channel: ChannelID, environment: APNsEnvironment?) {
        aim = .channel(channel)
        service = .apns
        self.environment = environment
        isProven = false
    }

    /// Makes it an alternate to the delivery with this number, or, if that is `nil`, a delivery of its own.
    package mutating func setAlternate(to number: Int?) {
        isAlternate = number != nil
        self.number = number ?? self.number
    }

    /// An alternate in this delivery's place. Earlier attempts for the device count for it too.
    package func replaced(by alternate: Delivery) -> Delivery {
        var delivery = alternate
        delivery.number = number
        delivery.isAlternate = false
        delivery.failures = failures
        delivery.isInDoubt = isInDoubt
        return delivery
    }

    /// The delivery of a held message to the same device, without what belongs to this notification.
    package var heldCopy: Delivery {
        var copy = self
        copy.number = 0
        copy.isAlternate = false
        copy.user = nil
        copy.badge = nil
        copy.stamp = nil
        copy.failures = nil
        copy.isInDoubt = false
        copy.brings = nil
        copy.hides = []
        return copy
    }

    /// The failures after another one.
    package func failures(after kind: FailureKind) -> Failures {
        guard let failures, failures.kind == kind else { return Failures(kind, count: 1) }
        return Failures(kind, count: failures.count + 1)
    }

    /// The device's token; `nil` for a channel.
    package var token: DeviceToken? {
        if case .device(let token) = aim { token } else { nil }
    }
}
