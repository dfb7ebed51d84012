import HTTP2
import Turnstone

/// The header fields of a broadcast, checked as APNs requires.
///
/// Apple: *Sending broadcast push notification requests to APNs*.
struct BroadcastCheck {
    let channel: String
    /// Until when APNs should store it; 1970 means not at all.
    let expiration: Timestamp

    /// Checks everything but the sender, the channel and the body.
    init(_ fields: HeaderFields, bundle: String) throws(PushRefusal) {
        try PushCheck.checkForm(fields, id: "apns-request-id")
        guard fields[":method"] == "POST" else {
            throw PushRefusal(405, "MethodNotAllowed", "the method is not POST")
        }
        try Self.checkPath(fields[":path"] ?? "", bundle)
        guard let channel = fields["apns-channel-id"], !channel.isEmpty else {
            throw PushRefusal(400, "MissingChannelId", "apns-channel-id is missing")
        }
        self.channel = channel
        switch fields["apns-push-type"] {
        case "liveactivity": break
        case nil: throw PushRefusal(400, "MissingPushType", "apns-push-type is missing")
        default: throw PushRefusal(400, "InvalidPushType", "a channel takes only liveactivity")
        }
        for (name, reason) in [
            ("apns-priority", "BadPriority"), ("apns-expiration", "BadExpirationDate"),
        ] where fields[name] == nil {
            throw PushRefusal(400, reason, "\(name) is missing")
        }
        try PushCheck.checkDelivery(fields, .broadcast)
        try PushCheck.checkEncoding(fields)
        // APNs may ignore these fields, but a sender who uses them expects something else.
        for (name, reason) in [("apns-topic", "BadTopic"), ("apns-collapse-id", "BadCollapseId")]
        where fields[name] != nil {
            throw PushRefusal(400, reason, "\(name) has no place in a broadcast")
        }
        expiration = Timestamp(seconds: fields["apns-expiration"].flatMap { Int64($0) } ?? 0)
    }

    private static func checkPath(_ path: String, _ bundle: String) throws(PushRefusal) {
        let prefix = "/4/broadcasts/apps/"
        guard path.hasPrefix(prefix), path.utf8.count > prefix.utf8.count else {
            throw PushRefusal(404, "BadPath", "the path is not /4/broadcasts/apps/BUNDLE")
        }
        guard path == prefix + bundle else {
            throw PushRefusal(400, "TopicMismatch", "the bundle belongs to another team")
        }
    }

    /// Checks the payload: a broadcast cannot start an activity.
    static func check(_ payload: JSONValue?) throws(PushRefusal) {
        if payload?.object?["aps"]?.object?["event"] == "start" {
            throw PushRefusal(400, "BadPayload", "a broadcast starts nothing")
        }
    }
}
