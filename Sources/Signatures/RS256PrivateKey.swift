import COpenSSL
import Crypto
import Turnstone

/// A private RSA key: signs as JSON Web Signature's RS256 (RFC 7518 section 3.3).
package final class RS256PrivateKey {
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit { RSA_free(key) }

    /// Reads PEM, as PKCS#8 (RFC 5208; Google's service accounts) or PKCS#1.
    ///
    /// - Throws: a ``Failure`` whose sentence says why the key cannot be used. An encrypted key is refused:
    ///   nobody can be asked for its password. So is one of less than the 2048 bits that RFC 7518 demands, or
    ///   of more than 16384, which is slow.
    package convenience init(pem: [UInt8]) throws(Failure) {
        let read = readPEM(pem) { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) }
        guard let read else {
            throw unusableKey("it is not an unencrypted private key in PEM form")
        }
        defer { EVP_PKEY_free(read) }
        guard EVP_PKEY_get_base_id(read) == EVP_PKEY_RSA, let key = EVP_PKEY_get1_RSA(read) else {
            ERR_clear_error()
            throw unusableKey("it is not an RSA key")
        }
        self.init(owning: key)
        defer { withExtendedLifetime(self) {} }
        guard (2048...16384).contains(RSA_bits(key)) else {
            throw unusableKey("an RSA key must have 2048 to 16384 bits")
        }
        guard try isWhole else { throw unusableKey("its numbers do not match") }
    }

    /// Whether the public half verifies what the private half signs: a damaged file may still parse.
    /// `RSA_check_key(3)` would test the primes again, which takes 50 times as long.
    private var isWhole: Bool {
        get throws(Failure) {
            defer { withExtendedLifetime(self) {} }
            defer { ERR_clear_error() }
            let signature = try sign([])
            return RSA_verify(
                NID_sha256, SHA256.hash([]), 32, signature, UInt32(signature.count), key) == 1
        }
    }

    /// Generates a key of 2048 bits, which takes a tenth of a second.
    @export(interface)
    package static func generate() throws(Failure) -> RS256PrivateKey {
        guard let key = RSA_new() else { throw outOfMemory }
        let made = RS256PrivateKey(owning: key)
        defer { withExtendedLifetime(made) {} }
        guard let exponent = BN_new() else { throw outOfMemory }
        defer { BN_free(exponent) }
        guard BN_set_word(exponent, 65_537) == 1,
            RSA_generate_key_ex(key, 2048, exponent, nil) == 1
        else {
            ERR_clear_error()
            throw outOfMemory
        }
        return made
    }

    /// Signs a message: PKCS #1 v1.5 over SHA-256 (RFC 8017 section 8.2.1).
    ///
    /// - Returns: as many bytes as the modulus has. C: `RSA_sign(3)`.
    @export(interface)
    package func sign(_ message: [UInt8]) throws(Failure) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        var isSigned = false
        let signature = [UInt8](unsafeUninitializedCapacity: Int(RSA_size(key))) { buffer, count in
            var length: UInt32 = 0
            isSigned =
                RSA_sign(
                    NID_sha256, SHA256.hash(message), 32, buffer.baseAddress, &length, key) == 1
            count = isSigned ? Int(length) : 0
        }
        guard isSigned else {
            ERR_clear_error()
            throw Failure(.broken, "unable to sign: OpenSSL refused the key", cause: "RSA")
        }
        return signature
    }

    /// The key as unencrypted PKCS#8 in PEM form, as in a service account's file.
    package var pem: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return writePEM(rsa: key) { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
    }

    /// The public half as SubjectPublicKeyInfo in PEM form.
    package var publicPEM: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return writePEM(rsa: key) { PEM_write_bio_PUBKEY($0, $1) }
    }

    /// Identifies the key: the first 16 hex digits of the SHA-256 of its public half, which is not secret.
    package var fingerprint: String { hex(Array(SHA256.hash(publicPEM).prefix(8))) }
}
