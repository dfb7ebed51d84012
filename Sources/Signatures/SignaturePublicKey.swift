import COpenSSL
import Turnstone

/// A public key of either kind, depending on its file.
package enum SignaturePublicKey {
    case es256(ES256PublicKey)
    case rs256(RS256PublicKey)

    /// Reads a SubjectPublicKeyInfo in PEM form (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// - Throws: a ``Failure`` whose sentence says what is wrong with the text.
    @export(interface)
    package init(pem: [UInt8]) throws(Failure) {
        // Otherwise OpenSSL would read its configuration and load the engines named there, which takes half a
        // millisecond.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil)
        switch PublicKeyInfo(pem: pem) {
        case .rsa(let modulus, let exponent)?:
            self = .rs256(try RS256PublicKey(modulus: modulus, exponent: exponent))
        case .p256(let point)?:
            guard let key = ES256PublicKey(point: point) else {
                throw unusableKey("its point is not on P-256")
            }
            self = .es256(key)
        case nil: throw unusableKey("it is not a public key in PEM form, RSA or P-256")
        }
    }
}
