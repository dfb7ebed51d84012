import Crypto
import Edge
import JSON
import Turnstone

/// The key by which a repeated request is recognized: the header `Idempotency-Key`, or the member
/// `idempotency_key`.
package struct IdempotencyKey {
    let text: String
    /// The SHA-256 of the request without the key.
    let fingerprint: String

    /// - Parameter fields: the request's members. No other member may have been taken before.
    /// - Returns: `nil` if the request has no key.
    @export(interface)
    package init?(_ request: Request, _ fields: inout Fields) throws(Failure) {
        let member = try fields.text("idempotency_key")
        let header = try request.headers.credential("idempotency-key")
        guard let text = header ?? member else { return nil }
        guard member == nil || member == text else {
            throw .malformed("the header Idempotency-Key and the member idempotency_key differ")
        }
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            throw .unacceptable("an idempotency key must have 1 to 255 bytes of printable ASCII")
        }
        self.text = text
        // `notify` and `events` share the keys. Only requests to `events` have this member.
        let program = fields.rest["event"] == nil ? "message " : "event "
        fingerprint = hex(SHA256.hash(Array(program.utf8) + JSON.text(.object(fields.rest))))
    }
}
