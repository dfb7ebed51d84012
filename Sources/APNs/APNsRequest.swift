import HTTP2
import Turnstone

/// A push to a device or to a broadcast channel, checked as APNs would check it.
package struct APNsRequest: Equatable, Sendable {
    private enum Destination: Equatable {
        case device(DeviceToken, topic: String)
        case channel(ChannelID, bundle: String)
    }

    private let destination: Destination
    /// The `apns-id`, or a broadcast's `apns-request-id`.
    package let id: String
    package let payload: APNsPayload
    package let priority: Int
    /// The moment until which APNs keeps it for a device that is offline; `nil` leaves that to APNs.
    package let expiration: Timestamp?
    package let collapseID: String?

    /// - Parameters:
    ///   - id: a UUID in lower-case canonical form.
    ///   - bundle: the app's bundle id. The topic is made from it and the payload's type.
    ///   - priority: 10 at once, 5 when the device's power allows, 1 without waking the device.
    ///   - collapseID: at most 64 bytes.
    /// - Throws: a refusal whose cause is the reason that APNs would give.
    package init(
        token: DeviceToken, id: String, payload: APNsPayload, bundle: String, priority: Int,
        expiration: Timestamp? = nil, collapseID: String? = nil
    ) throws(Failure) {
        try checkCommon(id, payload.type, priority, expiration)
        if let collapseID, !isFieldValue(collapseID) || collapseID.utf8.count > 64 {
            throw invalid(
                "BadCollapseId", "apns-collapse-id must have 1 to 64 bytes of printable ASCII")
        }
        destination = .device(token, topic: payload.type.topic(of: bundle))
        self.id = id
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    /// - Parameters:
    ///   - id: a UUID in lower-case canonical form.
    ///   - payload: the payload of a Live Activity.
    ///   - expiration: 1970 if the channel keeps nothing.
    /// - Throws: a refusal whose cause is the reason that APNs would give.
    ///
    /// Apple: *Sending broadcast push notification requests to APNs*.
    package init(
        channel: ChannelID, id: String, payload: APNsPayload, bundle: String, priority: Int,
        expiration: Timestamp
    ) throws(Failure) {
        try checkCommon(id, payload.type, priority, expiration)
        guard payload.type == .liveActivity else {
            throw invalid(
                "InvalidPushType",
                "a channel accepts only liveactivity pushes, not \(payload.type.rawValue)")
        }
        destination = .channel(channel, bundle: bundle)
        self.id = id
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        collapseID = nil
    }

    /// Writes the request's header fields.
    ///
    /// Fields that differ from push to push are not indexed, because the server's table is small (RFC 7541
    /// section 4).
    func writeFields(_ fields: inout HeaderFields, authority: String, bearer: String) {
        fields.removeAll()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", authority)
        switch destination {
        case .device(let token, let topic):
            fields.append(":path", "/3/device/", token.text, indexed: false)
            fields.append("apns-topic", topic)
            fields.append("apns-id", id, indexed: false)
        case .channel(let channel, let bundle):
            fields.append(":path", "/4/broadcasts/apps/" + bundle)
            fields.append("apns-channel-id", channel.text, indexed: false)
            fields.append("apns-request-id", id, indexed: false)
        }
        fields.append("authorization", bearer, indexed: false)
        fields.append("apns-push-type", payload.type.rawValue)
        fields.append("apns-priority", String(priority))
        if let expiration {
            fields.append("apns-expiration", String(expiration.seconds), indexed: false)
        }
        if let collapseID { fields.append("apns-collapse-id", collapseID, indexed: false) }
        fields.append("content-length", String(payload.bytes.count), indexed: false)
    }
}

/// Checks the rules that apply to every push.
private func checkCommon(
    _ id: String, _ type: PushType, _ priority: Int, _ expiration: Timestamp?
) throws(Failure) {
    guard isCanonicalUUID(id) else {
        throw invalid("BadMessageId", "apns-id must be a lower-case UUID, not \(id)")
    }
    guard type.priorities.contains(priority) else {
        throw invalid("BadPriority", "a \(type.rawValue) push cannot have priority \(priority)")
    }
    if let expiration, expiration.milliseconds < 0 {
        throw invalid("BadExpirationDate", "apns-expiration must not be before 1970")
    }
}

private func isCanonicalUUID(_ text: String) -> Bool {
    guard text.utf8.count == 36 else { return false }
    // Every push runs this: walking over the text itself would take five times as long.
    return text.utf8.withContiguousStorageIfAvailable(isCanonicalUUID)
        ?? Array(text.utf8).withUnsafeBufferPointer(isCanonicalUUID)
}

private func isCanonicalUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    for place in bytes.indices {
        switch bytes[place] {
        case UInt8(ascii: "-"):
            guard place == 8 || place == 13 || place == 18 || place == 23 else { return false }
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
            guard place != 8, place != 13, place != 18, place != 23 else { return false }
        default: return false
        }
    }
    return true
}

/// Whether a text is a field value (RFC 9110 section 5.5) of printable ASCII, without spaces at the ends.
private func isFieldValue(_ text: String) -> Bool {
    guard let first = text.utf8.first, let last = text.utf8.last else { return false }
    return first != 0x20 && last != 0x20 && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
}
