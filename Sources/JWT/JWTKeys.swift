import Signatures

/// The keys whose signatures are accepted.
struct JWTKeys {
    /// For HS256.
    var secret: [UInt8]?
    /// For RS256 or ES256, depending on the kind of key.
    var publicKey: SignaturePublicKey?

    /// The values of `alg` that the keys are for.
    var algorithms: [String] {
        var algorithms = secret == nil ? [] : ["HS256"]
        switch publicKey {
        case .rs256: algorithms.append("RS256")
        case .es256: algorithms.append("ES256")
        case nil: break
        }
        return algorithms
    }
}
