import Turnstone

extension Push {
    /// The push service's form of its content, kept for the next devices that show the same number until the
    /// same moment.
    ///
    /// - Parameter encode: encodes it for this device.
    package func encoded<Message>(_ encode: () throws(Failure) -> Message) throws(Failure)
        -> Message
    {
        guard own == nil else { return try encode() }
        let shared = encoded as? Encoded<Message> ?? Encoded<Message>()
        encoded = shared
        let key = EncodedKey(badge: badge, expires: expires)
        if let message = shared.messages[key] { return message }
        let message = try encode()
        // Icons show few different numbers.
        if shared.messages.count >= 128 { shared.messages.removeAll() }
        shared.messages[key] = message
        return message
    }
}

/// The messages of a job, or of one of its languages, by what differs between devices.
private final class Encoded<Message> {
    var messages: [EncodedKey: Message] = [:]
}

private struct EncodedKey: Hashable {
    let badge: Int?
    let expires: Timestamp
}
