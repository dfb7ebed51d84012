import COpenSSL
import Crypto
import Turnstone

/// A private key on the curve P-256: signs as JSON Web Signature's ES256 (RFC 7518 section 3.4).
package final class ES256PrivateKey {
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit { EC_KEY_free(key) }

    /// Reads PEM, as PKCS#8 (Apple's .p8) or SEC 1.
    ///
    /// - Throws: a ``Failure`` whose sentence says why the key cannot be used. An encrypted key is refused:
    ///   nobody can be asked for its password.
    package convenience init(pem: [UInt8]) throws(Failure) {
        let read = readPEM(pem) { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) }
        guard let read else {
            throw unusableKey("it is not an unencrypted private key in PEM form")
        }
        defer { EVP_PKEY_free(read) }
        self.init(owning: try curveKey(read))
        defer { withExtendedLifetime(self) {} }
        // A damaged file may still parse, but its signatures would be refused.
        guard EC_KEY_check_key(key) == 1 else {
            ERR_clear_error()
            throw unusableKey("its private and public halves do not match")
        }
    }

    /// Generates a new key.
    @export(interface)
    package static func generate() throws(Failure) -> ES256PrivateKey {
        guard let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else {
            throw outOfMemory
        }
        let made = ES256PrivateKey(owning: key)
        defer { withExtendedLifetime(made) {} }
        guard EC_KEY_generate_key(key) == 1 else { throw outOfMemory }
        return made
    }

    /// Signs a message. Returns r and s, 32 bytes each, instead of the DER that OpenSSL's command line
    /// writes.
    @export(interface)
    package func sign(_ message: [UInt8]) throws(Failure) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        guard let signature = ECDSA_do_sign(SHA256.hash(message), 32, key) else {
            ERR_clear_error()
            throw Failure(.broken, "unable to sign: OpenSSL refused the key", cause: "ECDSA")
        }
        defer { ECDSA_SIG_free(signature) }
        return [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), buffer.baseAddress, 32)
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), buffer.baseAddress! + 32, 32)
            count = 64
        }
    }

    /// The key as unencrypted PKCS#8 in PEM form, like Apple's .p8 files.
    package var pem: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return writePEM(key) { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
    }

    /// Identifies the key: the first 16 hex digits of the SHA-256 of its public half, which is not secret.
    package var fingerprint: String { hex(Array(SHA256.hash(publicKey.pem).prefix(8))) }

    package var publicKey: ES256PublicKey {
        defer { withExtendedLifetime(self) {} }
        EC_KEY_up_ref(key)
        return ES256PublicKey(owning: key)
    }
}

/// The public half of a P-256 key.
package final class ES256PublicKey {
    private let key: OpaquePointer

    init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit { EC_KEY_free(key) }

    /// Reads a SubjectPublicKeyInfo in PEM form.
    package convenience init(pem: [UInt8]) throws(Failure) {
        let read = readPEM(pem) { PEM_read_bio_PUBKEY($0, nil, noPassword, nil) }
        guard let read else { throw unusableKey("it is not a public key in PEM form") }
        defer { EVP_PKEY_free(read) }
        self.init(owning: try curveKey(read))
    }

    /// Reads a point's uncompressed form: a byte 4, then x and y of 32 bytes each (SEC 1 section 2.3.3).
    ///
    /// - Returns: `nil` unless the point lies on the curve.
    @export(interface)
    package init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4,
            let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        else { return nil }
        guard EC_KEY_oct2key(key, point, point.count, nil) == 1 else {
            ERR_clear_error()
            EC_KEY_free(key)
            return nil
        }
        self.key = key
    }

    /// The point's uncompressed form, which ``init(point:)`` reads: 65 bytes.
    package var point: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return [UInt8](unsafeUninitializedCapacity: 65) { buffer, count in
            count = EC_POINT_point2oct(
                EC_KEY_get0_group(key), EC_KEY_get0_public_key(key),
                POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, 65, nil)
        }
    }

    /// The key as SubjectPublicKeyInfo in PEM form.
    package var pem: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return writePEM(key) { PEM_write_bio_PUBKEY($0, $1) }
    }

    /// Whether `signature` (r and s, 64 bytes) is the private half's signature of `message`.
    @export(interface)
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { withExtendedLifetime(self) {} }
        guard signature.count == 64, let parsed = ECDSA_SIG_new() else { return false }
        defer { ECDSA_SIG_free(parsed) }
        let r = BN_bin2bn(signature, 32, nil)
        let s = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress! + 32, 32, nil) }
        ECDSA_SIG_set0(parsed, r, s)  // takes ownership of both
        defer { ERR_clear_error() }
        return ECDSA_do_verify(SHA256.hash(message), 32, parsed, key) == 1
    }
}

/// Returns a P-256 key that the caller owns.
private func curveKey(_ read: OpaquePointer) throws(Failure) -> OpaquePointer {
    guard EVP_PKEY_get_base_id(read) == EVP_PKEY_EC, let key = EVP_PKEY_get1_EC_KEY(read) else {
        ERR_clear_error()
        throw unusableKey("it is not an elliptic-curve key; it must be one on P-256")
    }
    guard EC_GROUP_get_curve_name(EC_KEY_get0_group(key)) == NID_X9_62_prime256v1 else {
        EC_KEY_free(key)
        throw unusableKey("its curve is not P-256")
    }
    return key
}
