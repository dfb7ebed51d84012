import HTTP2Server
import JSON
import Signatures
import Turnstone
import Unix

/// Stands in for Google's token server: checks assertions and gives access tokens.
///
/// Google: *Using OAuth 2.0 for Server to Server Applications*; RFC 7523.
struct AccessTokenBook {
    static let path = "/token"
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    struct Account {
        let email: String
        let keyID: String
        let publicKey: RS256PublicKey
        let tokenURI: String
    }

    let account: Account
    /// Whether the scopes and the audience of Google's own libraries are accepted: they ask for other scopes,
    /// and name Google's token server whatever `token_uri` says.
    var isForeign = false
    /// How long new tokens are valid.
    var life = Interval.seconds(3599)
    var requests = 0
    /// When each token ends.
    private var tokens: [String: Timestamp] = [:]
    /// The number of tokens given so far.
    private(set) var given = 0
    /// The count of answers by error, or `granted`.
    private(set) var answers: [String: Int] = [:]

    init(account: Account) {
        self.account = account
    }

    /// An error answer (RFC 6749 section 5.2).
    struct Refusal: Error, Equatable {
        var status = 400
        let error: String
        let detail: String

        init(_ error: String, _ detail: String) {
            self.error = error
            self.detail = detail
        }
    }

    mutating func reset() {
        tokens = [:]
        requests = 0
        given = 0
        answers = [:]
        life = .seconds(3599)
        isForeign = false
    }

    /// Makes every token invalid.
    mutating func revoke() { tokens = [:] }

    /// Answers a request for a token.
    mutating func answer(_ request: ServerRequest, now: Timestamp) -> ServerAnswer {
        let json = [("content-type", "application/json; charset=UTF-8")]
        do throws(Refusal) {
            try check(request, now: now)
            let token = "ya29.simulator-\(given)-\(madeName())"
            given += 1
            tokens[token] = now + life
            answers["granted", default: 0] += 1
            let body: JSONValue = [
                "access_token": .string(token), "token_type": "Bearer",
                "expires_in": .integer(life.milliseconds / 1000),
            ]
            return ServerAnswer(status: 200, json, body: JSON.text(body))
        } catch {
            return refuse(error)
        }
    }

    mutating func refuse(_ refusal: Refusal, retryAfter: String? = nil) -> ServerAnswer {
        answers[refusal.error, default: 0] += 1
        var fields = [("content-type", "application/json; charset=UTF-8")]
        if let retryAfter { fields.append(("retry-after", retryAfter)) }
        return ServerAnswer(
            status: refusal.status, fields,
            body: JSON.text([
                "error": .string(refusal.error), "error_description": .string(refusal.detail),
            ]))
    }

    /// Checks the field `authorization` of a message.
    func check(_ header: String?, now: Timestamp) throws(FCMRefusal) {
        guard let header else {
            throw .unauthenticated("CREDENTIALS_MISSING", "there is no authorization")
        }
        guard header.hasPrefix("Bearer "), let end = tokens[String(header.dropFirst(7))] else {
            throw .unauthenticated("ACCESS_TOKEN_EXPIRED", "the access token is unknown")
        }
        guard now < end else {
            throw .unauthenticated("ACCESS_TOKEN_EXPIRED", "the access token has expired")
        }
    }

    // MARK: The assertion

    private func check(_ request: ServerRequest, now: Timestamp) throws(Refusal) {
        guard request.fields[":method"] == "POST" else {
            throw Refusal("invalid_request", "the method is not POST")
        }
        let type = request.fields["content-type"]?.lowercased() ?? ""
        guard type.hasPrefix("application/x-www-form-urlencoded") else {
            throw Refusal("invalid_request", "the body is not a form")
        }
        let form = try parsed(request.body)
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            throw Refusal("unsupported_grant_type", "grant_type is another one")
        }
        guard let assertion = form["assertion"] else {
            throw Refusal("invalid_request", "there is no assertion")
        }
        try checkClaims(try verified(assertion), now: now)
    }

    private func parsed(_ body: [UInt8]) throws(Refusal) -> [String: String] {
        var form: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = decoded(parts[0]), let value = decoded(parts[1]),
                form.updateValue(value, forKey: name) == nil
            else { throw Refusal("invalid_request", "the form is malformed") }
        }
        return form
    }

    private func decoded(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+") {
                bytes.append(0x20)
            } else if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(hexValue),
                    let low = rest.popFirst().flatMap(hexValue)
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The claims of an assertion with a valid signature.
    private func verified(_ assertion: String) throws(Refusal) -> JSONObject {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
            .map(String.init)
        guard parts.count == 3, let signature = base64URLDecoded(parts[2]),
            let head = members(parts[0]), let claims = members(parts[1])
        else { throw Refusal("invalid_request", "the assertion is not a JSON Web Token") }
        guard head["alg"] == "RS256", head["typ"] == nil || head["typ"] == "JWT" else {
            throw Refusal("invalid_grant", "alg is not RS256")
        }
        guard head["kid"] == .string(account.keyID) else {
            throw Refusal("invalid_grant", "kid names no key of the account")
        }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        guard account.publicKey.verify(signature, of: signed) else {
            throw Refusal("invalid_grant", "Invalid JWT Signature.")
        }
        return claims
    }

    private func checkClaims(_ claims: JSONObject, now: Timestamp) throws(Refusal) {
        guard claims["iss"] == .string(account.email) else {
            throw Refusal("invalid_grant", "iss is not the account")
        }
        guard isForeign || claims["scope"] == .string(Self.scope) else {
            throw Refusal("invalid_scope", "scope must be \(Self.scope) and nothing else")
        }
        guard isForeign || claims["aud"] == .string(account.tokenURI) else {
            throw Refusal("invalid_grant", "aud is not token_uri")
        }
        guard let issued = claims["iat"]?.integer, let end = claims["exp"]?.integer else {
            throw Refusal("invalid_grant", "iat and exp must be integers")
        }
        // Google allows a clock to be off by minutes.
        guard issued <= now.seconds.saturatingAdd(300), end > now.seconds else {
            throw Refusal("invalid_grant", "iat is ahead, or exp is over: check iat and exp values")
        }
        guard end > issued, end <= issued.saturatingAdd(3600) else {
            throw Refusal("invalid_grant", "exp must be at most an hour after iat")
        }
        for claim in claims.members
        where !["iss", "scope", "aud", "iat", "exp"].contains(claim.name) {
            throw Refusal("invalid_grant", "there is a claim \(claim.name)")
        }
    }

    private func members(_ part: String) -> JSONObject? {
        guard let bytes = base64URLDecoded(part) else { return nil }
        do throws(JSONError) { return try JSON.parse(bytes).object } catch { return nil }
    }
}

/// A name that nobody can guess.
private func madeName() -> String {
    do throws(Failure) { return hex(try randomBytes(16)) } catch {
        return String(Instant.now.milliseconds)
    }
}
