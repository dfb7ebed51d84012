import JSON
import Turnstone

/// APNs' answer to a push that it refuses.
///
/// Apple: *Handling notification responses from APNs*.
struct PushRefusal: Error, Equatable {
    let status: Int
    let reason: String
    /// With 410: since when the token has been gone.
    var timestamp: Timestamp?
    /// The field `retry-after`: seconds or a date.
    var retryAfter: String?
    /// The exact fault. Only the report says it; APNs does not.
    var detail = ""

    init(_ status: Int, _ reason: String, _ detail: String = "", since timestamp: Timestamp? = nil)
    {
        self.status = status
        self.reason = reason
        self.detail = detail
        self.timestamp = timestamp
    }

    var body: [UInt8] {
        var members: JSONObject = ["reason": .string(reason)]
        if let timestamp { members["timestamp"] = JSONValue(timestamp) }
        return JSON.text(.object(members))
    }
}
