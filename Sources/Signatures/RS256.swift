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

    /// Takes a modulus and an exponent, both big endian.
    ///
    /// - Throws: a ``Failure`` for less than the 2048 bits that RFC 7518 demands, for more than 16384 bits,
    ///   which are slow, and for an exponent that is even or 1.
    convenience init(modulus: [UInt8], exponent: [UInt8]) throws(Failure) {
        guard let first = modulus.first, let last = exponent.last,
            (2048...16384).contains(modulus.count * 8 - first.leadingZeroBitCount)
        else { throw unusableKey("an RSA key must have 2048 to 16384 bits") }
        guard exponent.count <= 8, last % 2 == 1, exponent != [1] else {
            throw unusableKey("its exponent must be odd, above 1 and at most 64 bits long")
        }
        guard let key = RSA_new() else { throw outOfMemory }
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_bin2bn(exponent, Int32(exponent.count), nil)
        RSA_set0_key(key, n, e, nil)  // takes ownership of both
        self.init(owning: key)
    }

    /// Reads a SubjectPublicKeyInfo in PEM form.
    package convenience init(pem: [UInt8]) throws(Failure) {
        guard case .rsa(let modulus, let exponent)? = PublicKeyInfo(pem: pem) else {
            throw unusableKey("it is not an RSA key")
        }
        try self.init(modulus: modulus, exponent: exponent)
    }

    /// Whether `signature` is the private half's signature of `message`: PKCS #1 v1.5 over SHA-256 (RFC 8017
    /// section 8.2.2).
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { withExtendedLifetime(self) {} }
        defer { ERR_clear_error() }
        return RSA_verify(
            NID_sha256, SHA256.hash(message), 32, signature, UInt32(signature.count), key) == 1
    }
}
