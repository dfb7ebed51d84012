import Crypto
import JSON
import Signatures
import Turnstone

/// A JSON Web Signature in compact form (RFC 7515 section 7.1).
struct SignedText {
    /// The signed bytes: the first two parts and the dot between them.
    private let signed: [UInt8]
    private let header: JSONObject
    let payload: [UInt8]
    private let signature: [UInt8]

    /// - Returns: `nil` if the text does not have that form, or its header has a duplicate member.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3, let header = base64URLDecoded(parts[0]).flatMap(members),
            let payload = base64URLDecoded(parts[1]), let signature = base64URLDecoded(parts[2])
        else { return nil }
        signed = Array(parts[0].utf8) + [UInt8(ascii: ".")] + Array(parts[1].utf8)
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// The algorithm that the header names.
    var algorithm: String? { header["alg"]?.string }

    /// Whether the header demands extensions that the reader must support (RFC 7515 section 4.1.11).
    var hasCriticalExtensions: Bool { header["crit"] != nil }

    /// Whether the signature was made with our key of the kind that `alg` names. The key's kind must match
    /// `alg`, so that a public key is never used as an HMAC secret.
    func isSigned(by keys: JWTKeys) -> Bool {
        switch (header["alg"]?.string, keys.secret, keys.publicKey) {
        case ("HS256", let secret?, _):
            isEqualInConstantTime(hmacSHA256(signed, key: secret), signature)
        case ("RS256", _, .rs256(let key)): key.verify(signature, of: signed)
        case ("ES256", _, .es256(let key)): key.verify(signature, of: signed)
        default: false
        }
    }
}

/// The members of a JSON object; `nil` if the text is not one.
func members(_ text: [UInt8]) -> JSONObject? {
    do throws(JSONError) { return try JSON.parse(text).object } catch { return nil }
}
