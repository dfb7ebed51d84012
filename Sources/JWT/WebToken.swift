import Turnstone

/// A signed JSON Web Token (RFC 7519).
package struct WebToken {
    private let signature: SignedText
    private let claims: JSONObject

    /// The longest token that is accepted, in bytes. A token comes with every request.
    package static let longest = 8192
    /// How far the signer's clock may differ from ours.
    package static let leeway = Interval.seconds(60)

    /// - Throws: malformed if the text is not a token, or has a duplicate member.
    package init(_ text: String) throws(TokenFault) {
        guard text.utf8.count <= Self.longest, let signature = SignedText(text),
            let claims = members(signature.payload)
        else { throw .malformed }
        self.signature = signature
        self.claims = claims
    }

    /// The user whom the token names.
    ///
    /// - Throws: the first reason to refuse the token at this moment. Claims are checked only after the
    ///   signature.
    @export(interface)
    package func user(_ settings: JWTSettings, at now: Timestamp) throws(TokenFault) -> UserID {
        let algorithms = settings.keys.algorithms
        guard let algorithm = signature.algorithm, algorithms.contains(algorithm) else {
            throw .wrongAlgorithm(accepted: algorithms.joined(separator: " or "))
        }
        guard !signature.hasCriticalExtensions else { throw .unsupportedExtension }
        guard signature.isSigned(by: settings.keys) else { throw .badSignature }
        try checkTime(settings, at: now)
        if let issuer = settings.issuer, claims["iss"]?.string != issuer { throw .wrongIssuer }
        if let audience = settings.audience, !isFor(audience) { throw .wrongAudience }
        let user: UserID? =
            switch claims[settings.userClaim] {
            case .string(let text): UserID(text)
            case .integer(let number): UserID(String(number))
            default: nil
            }
        guard let user else { throw .noUser(claim: settings.userClaim) }
        return user
    }

    private func checkTime(_ settings: JWTSettings, at now: Timestamp) throws(TokenFault) {
        guard let expiry = try moment("exp") else {
            if settings.requiresExpiry { throw .neverExpires }
            return try checkBeginning(at: now)
        }
        guard now - Self.leeway < expiry else { throw .expired }
        try checkBeginning(at: now)
    }

    private func checkBeginning(at now: Timestamp) throws(TokenFault) {
        guard let beginning = try moment("nbf") else { return }
        guard beginning <= now + Self.leeway else { throw .notYetValid }
    }

    /// A claim's NumericDate (RFC 7519 section 2); `nil` without the claim.
    private func moment(_ name: String) throws(TokenFault) -> Timestamp? {
        switch claims[name] {
        case nil: return nil
        case .integer(let seconds) where seconds.magnitude < 1 << 50:
            return Timestamp(seconds: seconds)
        case .number(let seconds) where abs(seconds.value) < 1e15:
            return Timestamp(milliseconds: Int64(seconds.value * 1000))
        default: throw .notATime(claim: name)
        }
    }

    private func isFor(_ audience: String) -> Bool {
        switch claims["aud"] {
        case .string(let text): text == audience
        case .array(let several): several.contains(.string(audience))
        default: false
        }
    }
}
