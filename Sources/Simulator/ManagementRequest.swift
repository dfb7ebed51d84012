import HTTP2
import HTTP2Server
import JSON
import Turnstone

/// A request to channel management.
enum ManagementRequest {
    case make(StoragePolicy)
    case list
    case read(String)
    case delete(String)

    /// Checks everything but the sender.
    init(_ request: ServerRequest, bundle: String) throws(PushRefusal) {
        let fields = request.fields
        try PushCheck.checkForm(fields, id: "apns-request-id")
        let place = try Self.place(fields[":path"] ?? "", bundle)
        switch (fields[":method"] ?? "", place) {
        case ("GET", "all-channels"): self = .list
        case ("POST", "channels"): self = .make(try Self.policy(request))
        case ("GET", "channels"): self = .read(try Self.channel(fields))
        case ("DELETE", "channels"): self = .delete(try Self.channel(fields))
        default: throw PushRefusal(405, "MethodNotAllowed", "not for \(place)")
        }
        if case .make = self { return }
        guard request.bodyLength == 0 else {
            throw PushRefusal(400, "BadRequestPayload", "there must be no body")
        }
    }

    var channel: String? {
        switch self {
        case .make, .list: nil
        case .read(let id), .delete(let id): id
        }
    }

    /// The request's name in the report.
    var name: String {
        switch self {
        case .make: "made"
        case .list: "listed"
        case .read: "read"
        case .delete: "deleted"
        }
    }

    private static func place(_ path: String, _ bundle: String) throws(PushRefusal) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 5, parts[0] == "", parts[1] == "1", parts[2] == "apps",
            ["channels", "all-channels"].contains(parts[4])
        else { throw PushRefusal(404, "BadPath", "the path is not /1/apps/BUNDLE/channels") }
        guard parts[3] == bundle else {
            throw PushRefusal(400, "TopicMismatch", "the bundle belongs to another team")
        }
        return parts[4]
    }

    private static func channel(_ fields: HeaderFields) throws(PushRefusal) -> String {
        guard let text = fields["apns-channel-id"], !text.isEmpty else {
            throw PushRefusal(400, "MissingChannelId", "apns-channel-id is missing")
        }
        guard ChannelID(text)?.text == text else {
            throw PushRefusal(400, "BadChannelId", "it is not base64")
        }
        return text
    }

    private static func policy(_ request: ServerRequest) throws(PushRefusal) -> StoragePolicy {
        guard request.fields["apns-channel-id"] == nil else {
            throw PushRefusal(400, "BadRequestParams", "APNs makes the id")
        }
        var parsed: JSONObject?
        do throws(JSONError) { parsed = try JSON.parse(request.body).object } catch {}
        guard let members = parsed else {
            throw PushRefusal(400, "BadRequestPayload", "the body is not a JSON object")
        }
        let known = ["message-storage-policy", "push-type"]
        if let odd = members.members.first(where: { !known.contains($0.name) }) {
            throw PushRefusal(400, "BadRequestPayload", "\(odd.name) is unknown")
        }
        switch members["push-type"] {
        case "LiveActivity": break
        case nil: throw PushRefusal(400, "MissingPushType", "push-type is missing")
        default: throw PushRefusal(400, "InvalidPushType", "push-type is not LiveActivity")
        }
        let number = members["message-storage-policy"]?.integer
        guard let policy = number.flatMap(StoragePolicy.init(number:)) else {
            throw PushRefusal(400, "BadRequestParams", "message-storage-policy is not 0 or 1")
        }
        return policy
    }
}
