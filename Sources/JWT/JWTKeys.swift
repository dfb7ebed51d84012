import Signatures

/// The keys whose signatures are accepted.
struct JWTKeys {
    /// For HS256.
    var secret: [UInt8]?
    /// For RS256 or ES256, depending on the kind of key.
    var publicKey: SignaturePublicKey?
}
