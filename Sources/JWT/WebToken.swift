import Turnstone

/// A JSON Web Token (RFC 7519), signed.
package struct WebToken {
    private let signature: SignedText
    private let claims: JSONObject

    /// Longer ones are refused: they come with every request.
    package static let longest = 8192
    /// How far the clocks of whoever signed it and ours may be apart.
    package static let leeway = Interval.seconds(60)

    /// - Returns: `nil` for anything that is not of that form, in which no member may come twice.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest, let signature = SignedText(text),
            let claims = members(signature.payload)
        else { return nil }
        self.signature = signature
        self.claims = claims
    }

    /// The user that the token names, if it is to be believed at this moment.
    ///
    /// - Returns: `nil` where it is not signed by one of our keys, where it has expired or is not valid yet, or is
    ///   somebody else's or for somebody else.
    package func user(_ settings: JWTSettings, at now: Timestamp) -> UserID? {
        guard signature.isSigned(by: settings.keys), isCurrent(at: now),
            settings.issuer == nil || claims["iss"]?.string == settings.issuer,
            settings.audience.map(isFor) ?? true
        else { return nil }
        switch claims[settings.userClaim] {
        case .string(let text): return UserID(text)
        case .integer(let number): return UserID(String(number))
        default: return nil
        }
    }

    private func isCurrent(at now: Timestamp) -> Bool {
        guard let expires = moment("exp", orElse: .max), let begins = moment("nbf", orElse: .min)
        else { return false }
        let leeway = Self.leeway.milliseconds
        return now.milliseconds - leeway < expires && begins <= now.milliseconds + leeway
    }

    /// A claim's moment (RFC 7519 section 2, NumericDate) in milliseconds; `nil` where it is none.
    private func moment(_ name: String, orElse missing: Int64) -> Int64? {
        switch claims[name] {
        case nil: missing
        case .integer(let seconds) where abs(seconds) < 1 << 50: seconds * 1000
        case .number(let seconds) where abs(seconds.value) < 1e15: Int64(seconds.value * 1000)
        default: nil
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
