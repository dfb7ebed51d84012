import JSON
import Turnstone

/// CloudEvents 1.0 in structured mode: a JSON object around the event that it carries as `data`.
enum CloudEvent {
    static func isOne(_ event: JSONObject) -> Bool { event["specversion"] != nil }

    /// What a CloudEvent carries, or the event as it is where it is none.
    static func unwrapped(_ event: JSONObject) throws(Failure) -> JSONObject {
        guard isOne(event) else { return event }
        guard event["specversion"]?.string == "1.0" else {
            throw .malformed("a CloudEvent must be of version 1.0")
        }
        guard let data = event["data"]?.object else {
            throw .malformed("a CloudEvent must carry a request as its data")
        }
        return data
    }
}
