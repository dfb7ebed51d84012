import Crypto
import Documents
import Spool
import Store
import Turnstone
import Unix

/// The way of a message to each of its users: every message passes here, once for each user, with all that is known
/// of the user. What may change until it is sent is decided then: whether quiet hours hold it, and its badge.
struct Passage {
    let message: Message
    let now: Timestamp

    /// What the message comes to for a user, on all devices or on one.
    ///
    /// - Parameter stamp: of the document, taken before it was read.
    /// - Returns: no deliveries where the user does not want the kind.
    func deliveries(
        to user: UserID, _ document: User, stamp: Int64?, only device: Device? = nil
    ) -> [Delivery] {
        let devices = document.devices.filter {
            $0.takesMessages && (device == nil || $0.token == device?.token)
        }
        guard !devices.isEmpty else { return [] }
        let passage = passage(of: document)
        if passage == .closed { return [] }
        // Quiet hours begin without a change of the document.
        let isLasting =
            passage == .free && message.badge == nil
            && (message.isExempt || document.preferences.quietHours == nil)
        return devices.map { device in
            var delivery = Delivery(
                token: device.token, id: device.changedID, environment: device.environment,
                user: user, isProven: device.reached != nil)
            delivery.stamp = isLasting ? stamp : nil
            return delivery
        }
    }

    /// What a user's preferences say of the message at the moment when it is to be sent.
    func passage(of document: User) -> Preferences.Passage {
        document.preferences.passage(
            message.refusableKind, isExempt: message.isExempt, at: message.sendAfter ?? now,
            WallClock.minute)
    }

    /// The user's devices that would get the message, if there were a push service for their platform.
    func skipped(of document: User, only token: DeviceToken? = nil) -> [Device] {
        let devices = document.devices.filter {
            $0.isSkipped && (token == nil || $0.token == token)
        }
        return devices.isEmpty || passage(of: document) == .closed ? [] : devices
    }
}
