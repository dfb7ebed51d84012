import Crypto
import Documents
import Spool
import Store
import Turnstone
import Unix

/// A message at the moment it is accepted: which deliveries it has for each of its users.
///
/// Quiet hours and the badge may change before it is sent, so they are decided then.
struct AcceptedMessage {
    let message: Message
    let now: Timestamp

    /// The deliveries to a user's devices, or to one of them.
    ///
    /// - Parameter stamp: the document's, taken before it was read.
    /// - Returns: none if the user does not want this kind of message.
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
            && (message.push.isExempt || document.preferences.quietHours == nil)
        return devices.map { device in
            var delivery = device.delivery(of: user)
            delivery.stamp = isLasting ? stamp : nil
            return delivery
        }
    }

    /// Whether a user's preferences let the message pass at the moment when it is to be sent.
    func passage(of document: User) -> Preferences.Passage {
        document.preferences.passage(
            message.refusableKind, isExempt: message.push.isExempt, at: message.sendAfter ?? now,
            WallClock.minute)
    }

    /// The user's devices that get nothing only because their platform has no push service here.
    func skipped(of document: User, only token: DeviceToken? = nil) -> [Device] {
        let devices = document.devices.filter {
            $0.isSkipped && (token == nil || $0.token == token)
        }
        return devices.isEmpty || passage(of: document) == .closed ? [] : devices
    }
}
