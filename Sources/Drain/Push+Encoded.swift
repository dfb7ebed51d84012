import Turnstone

extension Push {
    /// What a push service gets of its content, kept for the next device that shows the same number.
    ///
    /// - Parameter encode: encodes it for this device.
    package func encoded<Message>(_ encode: () throws(Failure) -> Message) throws(Failure)
        -> Message
    {
        guard own == nil else { return try encode() }
        if let shared = encoded as? Encoded<Message>, shared.badge == delivery.badge {
            return shared.message
        }
        let message = try encode()
        encoded = Encoded(message, badge: delivery.badge)
        return message
    }
}

private final class Encoded<Message> {
    let message: Message
    let badge: Int?

    init(_ message: Message, badge: Int?) {
        self.message = message
        self.badge = badge
    }
}
