import HTTP2
import HTTP2Server
import Turnstone

/// The header fields of a message to a browser, checked as push services require (RFC 8030 section 5, RFC
/// 8291 section 4).
enum WebPushCheck {
    /// - Returns: the id of the subscription.
    static func browser(_ fields: HeaderFields) throws(PushRefusal) -> String {
        if let name = fields.repeatedName {
            throw PushRefusal(400, "BadWebPushRequest", "\(name) comes twice")
        }
        let prefix = "/push/"
        guard let path = fields[":path"], path.hasPrefix(prefix) else {
            throw PushRefusal(404, "BadPath", "the path is not /push/ID")
        }
        guard fields[":method"] == "POST" else {
            throw PushRefusal(405, "MethodNotAllowed", "the method is not POST")
        }
        return String(path.dropFirst(prefix.count))
    }

    static func checkDelivery(_ fields: HeaderFields) throws(PushRefusal) {
        guard let ttl = fields["ttl"], let seconds = Int64(ttl), seconds >= 0,
            String(seconds) == ttl
        else { throw PushRefusal(400, "BadTtl", "ttl is missing or not a number") }
        guard seconds <= 2_419_200 else {
            throw PushRefusal(400, "BadTtl", "ttl is more than 28 days")
        }
        if let urgency = fields["urgency"] {
            guard ["very-low", "low", "normal", "high"].contains(urgency) else {
                throw PushRefusal(400, "BadUrgency", "urgency is unknown")
            }
        }
        if let topic = fields["topic"] {
            let isTopic = topic.utf8.allSatisfy {
                isLetterOrDigit($0) || [UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0)
            }
            guard isTopic, (1...32).contains(topic.utf8.count) else {
                throw PushRefusal(
                    400, "BadWebPushTopic", "topic is not 1 to 32 characters of base64url")
            }
        }
        guard fields["content-encoding"] == "aes128gcm" else {
            throw PushRefusal(400, "BadWebPushRequest", "content-encoding is not aes128gcm")
        }
    }
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"):
        true
    default: false
    }
}
