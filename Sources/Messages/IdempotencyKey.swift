import Crypto
import Edge
import JSON
import Turnstone

/// What a caller sends along so that a request that is repeated counts once: the header `Idempotency-Key`, or the
/// member `idempotency_key`.
package struct IdempotencyKey {
    let text: String
    /// The SHA-256 of the request without the key.
    let fingerprint: String

    /// - Returns: `nil` where the request has none.
    package init?(_ request: Request, _ members: JSONObject) throws(Failure) {
        var members = members
        var fields = Fields(members)
        let member = try fields.text("idempotency_key")
        let header = try request.headers.credential("idempotency-key")
        guard let text = header ?? member else { return nil }
        guard member == nil || member == text else {
            throw .malformed("the header Idempotency-Key and the member idempotency_key differ")
        }
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            throw unacceptable("an idempotency key must have 1 to 255 bytes of printable ASCII")
        }
        self.text = text
        members["idempotency_key"] = nil
        // The path's end tells the programs apart that take such keys.
        let isEvent = members["event"] != nil
        fingerprint = hex(
            SHA256.hash(Array((isEvent ? "event " : "message ").utf8) + JSON.text(.object(members)))
        )
    }
}
