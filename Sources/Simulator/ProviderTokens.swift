import JSON
import Signatures
import Turnstone

/// Checks the field `authorization`: who signed the provider token, and how often a new one comes.
///
/// Apple: *Establishing a token-based connection to APNs*.
struct ProviderTokens {
    struct Key {
        let team: String
        let publicKey: ES256PublicKey
    }

    private struct Known {
        let key: String
        let issued: Timestamp
    }

    var keys: [String: Key] = [:]
    /// Every token with a valid signature, by the field's value.
    private var known: [String: Known] = [:]
    /// When each key's newest token first arrived.
    private var newest: [String: Timestamp] = [:]
    private var last: (header: String, known: Known)?

    /// Every field's value with a valid signature, including those that were refused.
    private var seen: Set<String> = []

    /// The number of distinct provider tokens with a valid signature so far.
    var count: Int { seen.count }

    mutating func reset() {
        known = [:]
        seen = []
        newest = [:]
        last = nil
    }

    /// - Returns: the key that signed the token.
    mutating func check(_ header: String?, now: Timestamp) throws(PushRefusal) -> String {
        guard let header else { throw PushRefusal(403, "MissingProviderToken") }
        let token = try find(header, now: now)
        last = (header, token)
        try checkAge(token, now)
        return token.key
    }

    /// Checks the age in both directions: the token's clock may be ahead too.
    private func checkAge(_ token: Known, _ now: Timestamp) throws(PushRefusal) {
        if now - token.issued > .hours(1) {
            throw PushRefusal(403, "ExpiredProviderToken", "iat is more than an hour ago")
        }
        if token.issued - now > .hours(1) { throw invalid("iat is more than an hour ahead") }
    }

    private mutating func find(_ header: String, now: Timestamp) throws(PushRefusal) -> Known {
        if let last, last.header == header { return last.known }
        if let token = known[header] { return token }
        let token = try verify(header)
        seen.insert(header)
        // An expired token is not counted as an update: the one that replaces it must pass.
        try checkAge(token, now)
        if let earlier = newest[token.key], now - earlier < .minutes(20) {
            throw PushRefusal(
                429, "TooManyProviderTokenUpdates", "a second token of \(token.key) in 20 minutes")
        }
        newest[token.key] = now
        known[header] = token
        return token
    }

    private func verify(_ header: String) throws(PushRefusal) -> Known {
        guard header.hasPrefix("bearer ") else { throw invalid("it does not begin with bearer") }
        let token = header.dropFirst(7)
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let signature = base64URLDecoded(parts[2]) else {
            throw invalid("it is not three parts in base64url")
        }
        guard let head = members(parts[0]), let claims = members(parts[1]) else {
            throw invalid("its header or claims are not JSON in base64url")
        }
        guard head["alg"] == "ES256" else { throw invalid("alg is not ES256") }
        guard let id = head["kid"]?.string else { throw invalid("kid is missing") }
        guard let key = keys[id] else { throw invalid("kid names no key") }
        guard signature.count == 64 else { throw invalid("the signature is not 64 bytes") }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        guard key.publicKey.verify(signature, of: signed) else {
            throw invalid("the signature is wrong")
        }
        guard claims["iss"] == .string(key.team) else { throw invalid("iss is not the team") }
        guard let issued = claims["iat"]?.integer else { throw invalid("iat is not an integer") }
        return Known(key: id, issued: Timestamp(seconds: issued))
    }

    private func members(_ part: String) -> JSONObject? {
        guard let bytes = base64URLDecoded(part) else { return nil }
        do throws(JSONError) { return try JSON.parse(bytes).object } catch { return nil }
    }

    private func invalid(_ detail: String) -> PushRefusal {
        PushRefusal(403, "InvalidProviderToken", detail)
    }
}
