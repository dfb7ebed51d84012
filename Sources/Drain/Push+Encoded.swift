import Turnstone

extension Push {
    /// What a push service gets of its content, kept for the next device that shows the same number
    /// until the same moment.
    ///
    /// - Parameter encode: encodes it for this device.
    package func encoded<Message>(_ encode: () throws(Failure) -> Message) throws(Failure)
        -> Message
    {
        guard own == nil else { return try encode() }
        if let shared = encoded as? Encoded<Message>, shared.badge == delivery.badge,
            shared.expires == expires
        {
            return shared.message
        }
        let message = try encode()
        encoded = Encoded(message, badge: delivery.badge, expires: expires)
        return message
    }
}

private final class Encoded<Message> {
    let message: Message
    let badge: Int?
    let expires: Timestamp

    init(_ message: Message, badge: Int?, expires: Timestamp) {
        self.message = message
        self.badge = badge
        self.expires = expires
    }
}
