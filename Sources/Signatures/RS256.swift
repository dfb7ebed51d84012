import COpenSSL
import Crypto
import Turnstone

/// The public half of an RSA key: checks JSON Web Signature's RS256 (RFC 7518 section 3.3).
package final class RS256PublicKey {
    private let key: OpaquePointer

    private init(owning key: OpaquePointer) {
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Takes a key that was read, if it is one for RSA of at least 2048 bits, as RFC 7518 demands.
    ///
    /// - Returns: `nil` for a key of another kind, which stays the caller's.
    init?(_ read: OpaquePointer) throws(Failure) {
        guard EVP_PKEY_get_base_id(read) == EVP_PKEY_RSA else { return nil }
        guard EVP_PKEY_get_bits(read) >= 2048 else {
            throw unusable("an RSA key must have 2048 bits or more")
        }
        EVP_PKEY_up_ref(read)
        key = read
    }

    /// Reads a SubjectPublicKeyInfo in PEM form.
    package convenience init(pem: [UInt8]) throws(Failure) {
        guard case .rs256(let read) = try SignaturePublicKey(pem: pem) else {
            throw unusable("it is not an RSA key")
        }
        EVP_PKEY_up_ref(read.key)
        self.init(owning: read.key)
    }

    /// Whether `signature` is the private half's of `message`: PKCS #1 v1.5 over SHA-256 (RFC 8017 section 8.2.2).
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        // PKCS #1 v1.5 is what OpenSSL pads RSA with unless it is told otherwise.
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// A public key of either kind, as its file says.
package enum SignaturePublicKey {
    case es256(ES256PublicKey)
    case rs256(RS256PublicKey)

    /// Reads a SubjectPublicKeyInfo in PEM form (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// - Throws: a ``Failure`` whose sentence says what the text is instead.
    package init(pem: [UInt8]) throws(Failure) {
        guard let read = readPEM(pem, { PEM_read_bio_PUBKEY($0, nil, noPassword, nil) }) else {
            throw unusable("it is not a public key in PEM form")
        }
        defer { EVP_PKEY_free(read) }
        if let key = try RS256PublicKey(read) {
            self = .rs256(key)
        } else {
            self = .es256(try ES256PublicKey(pem: pem))
        }
    }
}
