import HTTP2
import HTTP2Server
import Turnstone

/// The header fields of a push, checked as APNs requires.
struct PushCheck {
    let device: String
    let kind: PushKind
    let topic: String

    /// Checks everything but the sender and the body.
    init(_ fields: HeaderFields, bundle: String) throws(PushRefusal) {
        try Self.checkForm(fields, id: "apns-id")
        guard fields[":method"] == "POST" else {
            throw PushRefusal(405, "MethodNotAllowed", "the method is not POST")
        }
        device = try Self.device(fields[":path"] ?? "")
        guard let topic = fields["apns-topic"], !topic.isEmpty else {
            throw PushRefusal(400, "MissingTopic", "apns-topic is missing")
        }
        self.topic = topic
        kind = try Self.kind(fields)
        try Self.checkDelivery(fields, kind)
        try Self.checkEncoding(fields)
        if topic.hasPrefix(bundle), topic != bundle + kind.suffix {
            throw PushRefusal(400, "BadTopic", "the topic does not go with \(kind.name)")
        }
    }

    static func checkForm(_ fields: HeaderFields, id name: String) throws(PushRefusal) {
        if let name = fields.repeatedName {
            throw PushRefusal(400, "DuplicateHeaders", "\(name) comes twice")
        }
        if let id = fields[name], !isCanonicalUUID(id) {
            throw PushRefusal(400, "BadMessageId", "\(name) is not a UUID in lower case")
        }
    }

    private static func device(_ path: String) throws(PushRefusal) -> String {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix + "/") || path == prefix else {
            throw PushRefusal(404, "BadPath", "the path is not /3/device/TOKEN")
        }
        let token = path.dropFirst(prefix.count + 1)
        guard !token.isEmpty else { throw PushRefusal(400, "MissingDeviceToken") }
        guard token.utf8.count % 2 == 0, token.utf8.count <= 512,
            token.utf8.allSatisfy({ hexValue($0) != nil })
        else { throw PushRefusal(400, "BadDeviceToken", "the token is not hex of even length") }
        return token.lowercased()
    }

    private static func kind(_ fields: HeaderFields) throws(PushRefusal) -> PushKind {
        guard let name = fields["apns-push-type"] else {
            throw PushRefusal(400, "InvalidPushType", "apns-push-type is missing")
        }
        guard let kind = PushKind.all.first(where: { $0.name == name }) else {
            throw PushRefusal(400, "InvalidPushType", "apns-push-type is unknown")
        }
        return kind
    }

    static func checkDelivery(
        _ fields: HeaderFields, _ kind: PushKind
    ) throws(PushRefusal) {
        if let collapse = fields["apns-collapse-id"], !(1...64).contains(collapse.utf8.count) {
            throw PushRefusal(400, "BadCollapseId", "apns-collapse-id must have 1 to 64 bytes")
        }
        // The default is 10.
        guard kind.priorities.contains(fields["apns-priority"] ?? "10") else {
            throw PushRefusal(400, "BadPriority", "the priority does not go with \(kind.name)")
        }
        if let expiration = fields["apns-expiration"] {
            guard let number = Int64(expiration), number >= 0, String(number) == expiration else {
                throw PushRefusal(400, "BadExpirationDate", "apns-expiration is not a number")
            }
            // Milliseconds instead of seconds would mean thousands of years.
            guard number < 10_000_000_000 else {
                throw PushRefusal(400, "BadExpirationDate", "apns-expiration is not in seconds")
            }
        }
    }

    /// APNs ignores this field, but then nothing arrives.
    static func checkEncoding(_ fields: HeaderFields) throws(PushRefusal) {
        if let encoding = fields["content-encoding"] {
            throw PushRefusal(400, "BadPayload", "the body is encoded: \(encoding)")
        }
    }
}

private func isCanonicalUUID(_ text: String) -> Bool {
    let hyphens = [8, 13, 18, 23]
    guard text.utf8.count == 36 else { return false }
    for (place, byte) in text.utf8.enumerated() {
        let isHyphen = byte == UInt8(ascii: "-")
        guard hyphens.contains(place) == isHyphen else { return false }
        let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
        guard isHyphen || (hexValue(byte) != nil && !isCapital) else { return false }
    }
    return true
}
