/// A notification's way to one device, or to all that listen to a channel.
package struct Delivery: Equatable, Sendable {
    package enum Aim: Hashable, Sendable {
        case device(DeviceToken)
        case channel(ChannelID)
    }

    /// Its place among the notification's devices, from 0: receipts name it by this. Given by the spool.
    package var number = 0
    /// Whether it is for another user of a device that the notification goes to already: an alternate to the delivery
    /// with the same number, which counts once that one's user has lost the device or does not want it.
    package private(set) var isAlternate = false
    package var aim: Aim
    /// Tells the device from others in receipts; `nil` where the token does: ``DeviceToken/publicID``.
    package var deviceID: String?
    package var environment: APNsEnvironment?
    /// Whose device it is, where the notification does not say.
    package var user: UserID?
    /// Takes the place of `aps`' `badge` in the payload.
    package var badge: Int?
    /// Tells the user's document as it was when the delivery was accepted from later ones; without a user, the
    /// token's document. While it is the same the delivery stands as it was decided; `nil` where it has to be
    /// decided again in any case.
    package var stamp: Int64?
    /// Whether the push service has taken a push to the device before. Such devices go first: a service
    /// lowers its limits after errors.
    package var isProven: Bool
    /// How often in a row it has failed in the same way; `nil` before the first failure.
    package var failures: Failures?
    /// Whether the answer to an attempt was lost, so that the push may have arrived.
    package var isInDoubt = false
    /// Which messages of a release the push brings; `nil` where that is what the notification says.
    package var brings: [String]?

    package init(
        token: DeviceToken, id: String? = nil, environment: APNsEnvironment?, user: UserID? = nil,
        badge: Int? = nil, isProven: Bool = false
    ) {
        aim = .device(token)
        deviceID = id
        self.environment = environment
        self.user = user
        self.badge = badge
        self.isProven = isProven
    }

    package init(channel: ChannelID, environment: APNsEnvironment?) {
        aim = .channel(channel)
        self.environment = environment
        isProven = false
    }

    /// Makes it an alternate to the delivery with a number, or one that stands for itself where that is `nil`.
    package mutating func setAlternate(to number: Int?) {
        isAlternate = number != nil
        self.number = number ?? self.number
    }

    /// An alternate in this delivery's place: what was tried for the device counts for it as well.
    package func replaced(by alternate: Delivery) -> Delivery {
        var delivery = alternate
        delivery.number = number
        delivery.isAlternate = false
        delivery.failures = failures
        delivery.isInDoubt = isInDoubt
        return delivery
    }

    /// The same after another failure.
    package func failures(after trouble: Trouble) -> Failures {
        guard let failures, failures.trouble == trouble else { return Failures(trouble, count: 1) }
        return Failures(trouble, count: failures.count + 1)
    }

    /// The device's; `nil` where it is for a channel.
    package var token: DeviceToken? {
        if case .device(let token) = aim { token } else { nil }
    }
}
