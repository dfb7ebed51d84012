import Crypto
import JSON
import Signatures
import Turnstone

/// What is signed in the compact form of a JSON Web Signature (RFC 7515 section 7.1).
struct SignedText {
    /// What was signed: the first two parts and the dot between them.
    private let signed: [UInt8]
    private let header: JSONObject
    let payload: [UInt8]
    private let signature: [UInt8]

    /// - Returns: `nil` for anything that is not of that form, in which no member of the header may come twice.
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

    /// Whether the signature is by the key of the kind that `alg` names, and no extension is critical: we know
    /// none. The key's kind decides together with `alg`, so that a public key is never taken for a secret.
    func isSigned(by keys: JWTKeys) -> Bool {
        guard header["crit"] == nil else { return false }
        return switch (header["alg"]?.string, keys.secret, keys.publicKey) {
        case ("HS256", let secret?, _):
            isEqualInConstantTime(hmacSHA256(signed, key: secret), signature)
        case ("RS256", _, .rs256(let key)): key.verify(signature, of: signed)
        case ("ES256", _, .es256(let key)): key.verify(signature, of: signed)
        default: false
        }
    }
}

/// The keys of those who are believed.
struct JWTKeys {
    /// For HS256.
    var secret: [UInt8]?
    /// For RS256 or ES256, as its kind is.
    var publicKey: SignaturePublicKey?
}

/// A JSON text's members; `nil` where it is no object.
func members(_ text: [UInt8]) -> JSONObject? {
    do throws(JSONError) { return try JSON.parse(text).object } catch { return nil }
}
