import Edge
import Turnstone

extension Outbox.Sent {
    /// The answer to whoever sent it, the same however often the request is repeated.
    package var response: Response {
        Response(
            status: 202,
            body: [
                "success": true, "id": .string(id), "devices": .integer(Int64(devices)),
            ])
    }
}
