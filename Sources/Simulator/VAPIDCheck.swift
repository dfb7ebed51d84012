import JSON
import Signatures
import Turnstone

/// Checks the field `authorization` of a message to a browser (RFC 8292).
struct VAPIDCheck {
    /// Every valid field so far, with the time at which its token expires.
    private var known: [String: (key: String, expires: Timestamp)] = [:]

    /// The number of distinct tokens with a valid signature so far.
    var count: Int { known.count }

    mutating func reset() { known = [:] }

    /// - Parameter origin: of this push service.
    /// - Returns: the public key that signed the token, in base64url.
    mutating func check(
        _ header: String?, origin: String, now: Timestamp
    ) throws(PushRefusal) -> String {
        guard let header else {
            throw PushRefusal(401, "BadAuthorizationHeader", "authorization is missing")
        }
        let token: (key: String, expires: Timestamp)
        if let seen = known[header] {
            token = seen
        } else {
            token = try verify(header, origin: origin)
        }
        guard token.expires > now else { throw bad("exp is over") }
        guard token.expires <= now + .hours(24) else {
            throw bad("exp is more than 24 hours ahead")
        }
        known[header] = token
        return token.key
    }

    private func verify(
        _ header: String, origin: String
    ) throws(PushRefusal) -> (key: String, expires: Timestamp) {
        let words = header.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, words[0].lowercased() == "vapid" else {
            throw PushRefusal(401, "BadAuthorizationHeader", "its scheme is not vapid")
        }
        var values: [String: String] = [:]
        for part in words[1].split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1).map {
                String($0.drop { $0 == " " })
            }
            guard pair.count == 2, values.updateValue(pair[1], forKey: pair[0]) == nil else {
                throw PushRefusal(401, "BadAuthorizationHeader", "its parameters are not t and k")
            }
        }
        guard let token = values["t"], let key = values["k"], values.count == 2 else {
            throw PushRefusal(401, "BadAuthorizationHeader", "its parameters are not t and k")
        }
        guard let point = base64URLDecoded(key), let publicKey = ES256PublicKey(point: point)
        else { throw PushRefusal(403, "BadVapidPublicKey", "k is not a point of P-256") }
        return (key, try expiry(of: token, signedBy: publicKey, origin))
    }

    private func expiry(
        of token: String, signedBy key: ES256PublicKey, _ origin: String
    ) throws(PushRefusal) -> Timestamp {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let signature = base64URLDecoded(parts[2]),
            signature.count == 64
        else { throw bad("it is not three parts in base64url with a signature of 64 bytes") }
        guard key.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8)) else {
            throw bad("the signature is not k's")
        }
        guard let head = members(parts[0]), let claims = members(parts[1]) else {
            throw bad("its header or claims are not JSON in base64url")
        }
        guard head["alg"] == "ES256" else { throw bad("alg is not ES256") }
        guard head["typ"] == nil || head["typ"] == "JWT" else { throw bad("typ is not JWT") }
        guard claims["aud"] == .string(origin) else { throw bad("aud is not \(origin)") }
        guard let subject = claims["sub"]?.string, isContact(subject) else {
            throw bad("sub is neither mailto: nor https:, or at localhost")
        }
        guard let expires = claims["exp"]?.integer else { throw bad("exp is not an integer") }
        return Timestamp(seconds: expires)
    }

    private func isContact(_ subject: String) -> Bool {
        let isMail = subject.hasPrefix("mailto:") && subject.contains("@")
        return (isMail || subject.hasPrefix("https://")) && !subject.contains("localhost")
    }

    private func members(_ part: String) -> JSONObject? {
        guard let bytes = base64URLDecoded(part) else { return nil }
        do throws(JSONError) { return try JSON.parse(bytes).object } catch { return nil }
    }

    private func bad(_ detail: String) -> PushRefusal { PushRefusal(403, "BadJwtToken", detail) }
}
