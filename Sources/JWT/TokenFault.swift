/// Why a JSON Web Token is refused.
package enum TokenFault: Error, Equatable {
    case malformed
    case badSignature
    /// Its `alg` is not that of a key of this installation.
    case wrongAlgorithm(accepted: String)
    /// It has critical extensions (`crit`). We support none.
    case unsupportedExtension
    case expired
    /// It has no `exp`, which `JWT_REQUIRE_EXP` demands.
    case neverExpires
    case notYetValid
    case notATime(claim: String)
    case wrongIssuer
    case wrongAudience
    case noUser(claim: String)

    /// The reason, for the caller.
    package var sentence: String {
        switch self {
        case .malformed: "malformed token"
        case .badSignature: "bad signature"
        case .wrongAlgorithm(let accepted): "the token's alg must be \(accepted)"
        case .unsupportedExtension: "unsupported extension (crit)"
        case .expired: "the token has expired"
        case .neverExpires: "the token has no exp"
        case .notYetValid: "the token is not valid yet (nbf)"
        case .notATime(let claim): "the token's \(claim) must be a number of seconds"
        case .wrongIssuer: "wrong issuer (iss)"
        case .wrongAudience: "wrong audience (aud)"
        case .noUser(let claim): "the token's \(claim) is not a user's id"
        }
    }
}
