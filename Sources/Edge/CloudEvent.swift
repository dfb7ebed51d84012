import Turnstone

/// CloudEvents 1.0 in structured mode: a JSON object that carries an event as `data`.
enum CloudEvent {
    static func isOne(_ event: JSONObject) -> Bool { event["specversion"] != nil }

    /// The data of a CloudEvent; any other event unchanged.
    static func unwrapped(_ event: JSONObject) throws(Failure) -> JSONObject {
        guard isOne(event) else { return event }
        guard event["specversion"]?.string == "1.0" else {
            throw .malformed("the CloudEvent's specversion must be 1.0")
        }
        guard let data = event["data"]?.object else {
            throw .malformed("the CloudEvent's data must be a request, as an object")
        }
        return data
    }
}
