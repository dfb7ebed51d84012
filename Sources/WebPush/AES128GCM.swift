import COpenSSL
import Turnstone

/// AES-128 in Galois/Counter Mode (SP 800-38D) without associated data.
final class AES128GCM {
    /// The bytes of the tag that follows the ciphertext.
    static let tagLength = 16

    private let context: OpaquePointer

    init() throws(Failure) {
        guard let context = EVP_CIPHER_CTX_new() else { throw cryptoFailure("encrypt") }
        // The cipher is looked up once; each message then sets only its key.
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, nil, nil) == 1 else {
            EVP_CIPHER_CTX_free(context)
            throw cryptoFailure("encrypt")
        }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Appends the ciphertext and its tag to `output`.
    ///
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - nonce: 12 bytes, never used twice with the key.
    func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], onto output: inout [UInt8]
    ) throws(Failure) {
        precondition(key.count == 16 && nonce.count == 12, "a key or a nonce of the wrong length")
        defer { withExtendedLifetime(self) {} }
        let start = output.count
        output += repeatElement(0, count: plaintext.count + Self.tagLength)
        let isDone = output.withUnsafeMutableBufferPointer { buffer in
            var length: Int32 = 0
            var rest: Int32 = 0
            guard let base = buffer.baseAddress.map({ $0 + start }) else { return false }
            return EVP_EncryptInit_ex(context, nil, nil, key, nonce) == 1
                && EVP_EncryptUpdate(context, base, &length, plaintext, Int32(plaintext.count)) == 1
                && EVP_EncryptFinal_ex(context, base + Int(length), &rest) == 1
                && EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength),
                    base + plaintext.count) == 1
        }
        guard isDone else { throw cryptoFailure("encrypt") }
    }
}

/// EVP_CTRL_AEAD_GET_TAG is a macro that is not imported.
private let EVP_CTRL_AEAD_GET_TAG: Int32 = 0x10
