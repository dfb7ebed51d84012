import Edge
import Turnstone

extension Outbox.Sent {
    /// The answer to the request, which is the same each time the request is repeated.
    package var response: Response {
        var body: JSONObject = [
            "success": true, "id": .string(id), "devices": .integer(Int64(devices)),
        ]
        body["skipped"] = skipped > 0 ? .integer(Int64(skipped)) : nil
        body["later"] = later.isEmpty ? nil : JSONValue(texts: later)
        body["failed"] = failed.isEmpty ? nil : JSONValue(texts: failed)
        return Response(status: 202, body: .object(body))
    }
}
