import COpenSSL
import Crypto
import Turnstone

/// The public half of an RSA key: checks JSON Web Signature's RS256 (RFC 7518 section 3.3).
package final class RS256PublicKey {
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit { RSA_free(key) }

    /// - Parameters: big endian.
    /// - Throws: a ``Failure`` for less than 2048 bits, which RFC 7518 demands, for more than 16384, which take
    ///   long, and for an exponent that is even or no exponent.
    convenience init(modulus: [UInt8], exponent: [UInt8]) throws(Failure) {
        guard let first = modulus.first, let last = exponent.last,
            (2048...16384).contains(modulus.count * 8 - first.leadingZeroBitCount)
        else { throw unusable("an RSA key must have 2048 to 16384 bits") }
        guard exponent.count <= 8, last % 2 == 1, exponent != [1] else {
            throw unusable("its exponent is none")
        }
        guard let key = RSA_new() else { throw outOfMemory }
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_bin2bn(exponent, Int32(exponent.count), nil)
        RSA_set0_key(key, n, e, nil)  // which owns both from here
        self.init(owning: key)
    }

    /// Reads a SubjectPublicKeyInfo in PEM form.
    package convenience init(pem: [UInt8]) throws(Failure) {
        guard case .rsa(let modulus, let exponent)? = PublicKeyInfo(pem: pem) else {
            throw unusable("it is not an RSA key")
        }
        try self.init(modulus: modulus, exponent: exponent)
    }

    /// Whether `signature` is the private half's of `message`: PKCS #1 v1.5 over SHA-256 (RFC 8017 section 8.2.2).
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { withExtendedLifetime(self) {} }
        defer { ERR_clear_error() }
        return RSA_verify(
            NID_sha256, SHA256.hash(message), 32, signature, UInt32(signature.count), key) == 1
    }
}

/// A public key of either kind, as its file says.
package enum SignaturePublicKey {
    case es256(ES256PublicKey)
    case rs256(RS256PublicKey)

    /// Reads a SubjectPublicKeyInfo in PEM form (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// - Throws: a ``Failure`` whose sentence says what is wrong with the text.
    package init(pem: [UInt8]) throws(Failure) {
        // Or the first key would have OpenSSL read its configuration, with the engines that it may name: half a
        // millisecond.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil)
        switch PublicKeyInfo(pem: pem) {
        case .rsa(let modulus, let exponent)?:
            self = .rs256(try RS256PublicKey(modulus: modulus, exponent: exponent))
        case .p256(let point)?:
            guard let key = ES256PublicKey(point: point) else {
                throw unusable("its point does not lie on P-256")
            }
            self = .es256(key)
        case nil: throw unusable("it is not a public key in PEM form, RSA or on P-256")
        }
    }
}
