import COpenSSL
import Crypto
import Turnstone

/// A browser that has subscribed. It has the private half of its key and decrypts what comes.
final class WebBrowser {
    /// The last part of its endpoint.
    let id: String
    /// The only VAPID key that may push to it, in base64url; `nil` for any.
    let serverKey: String?
    /// The answer's status once the subscription has ended.
    var goneStatus: Int?
    private let key: OpaquePointer
    private let secret: [UInt8]

    init(id: String, serverKey: String?, secret: [UInt8]) throws(Failure) {
        guard let curve = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1),
            EC_KEY_generate_key(curve) == 1
        else { throw .misconfigured("unable to make a browser's key") }
        key = curve
        self.id = id
        self.serverKey = serverKey
        self.secret = secret
    }

    deinit { EC_KEY_free(key) }

    /// The value of the page's `PushSubscription.toJSON()`.
    func subscription(origin: String) -> JSONValue {
        [
            "endpoint": .string("\(origin)/push/\(id)"), "expirationTime": .null,
            "keys": [
                "p256dh": .string(base64URL(publicKey)), "auth": .string(base64URL(secret)),
            ],
        ]
    }

    private var publicKey: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return [UInt8](unsafeUninitializedCapacity: 65) { buffer, count in
            count = EC_POINT_point2oct(
                EC_KEY_get0_group(key), EC_KEY_get0_public_key(key),
                POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, 65, nil)
        }
    }

    /// Reads a request's body (RFC 8291 section 3, RFC 8188 section 2): one record, with a key of its own.
    ///
    /// - Returns: the message; `nil` if the browser could not read it.
    func decrypt(_ body: [UInt8]) -> [UInt8]? {
        guard body.count >= 86 + 17, body[20] == 65 else { return nil }
        let size = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let record = Array(body[86...])
        // RFC 8291 section 4: a single record, so the size must not end it earlier.
        guard size >= 18, record.count <= size else { return nil }
        let theirs = Array(body[21..<86])
        guard let agreed = agreed(with: theirs) else { return nil }
        let input = HKDF(agreed, salt: secret).expanded(
            Array("WebPush: info".utf8) + [0] + publicKey + theirs, count: 32)
        let keys = HKDF(input, salt: Array(body[..<16]))
        guard
            let padded = opened(
                record,
                key: keys.expanded(Array("Content-Encoding: aes128gcm".utf8) + [0], count: 16),
                nonce: keys.expanded(Array("Content-Encoding: nonce".utf8) + [0], count: 12)),
            let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2
        else { return nil }
        return Array(padded[..<end])
    }

    private func agreed(with point: [UInt8]) -> [UInt8]? {
        defer { withExtendedLifetime(self) {} }
        defer { ERR_clear_error() }
        let group = EC_KEY_get0_group(key)
        guard let peer = EC_POINT_new(group) else { return nil }
        defer { EC_POINT_free(peer) }
        guard EC_POINT_oct2point(group, peer, point, point.count, nil) == 1 else { return nil }
        var agreed = [UInt8](repeating: 0, count: 32)
        return ECDH_compute_key(&agreed, 32, peer, key, nil) == 32 ? agreed : nil
    }

    private func opened(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer {
            EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
        }
        var text = [UInt8](repeating: 0, count: sealed.count)
        var tag = Array(sealed.suffix(16))
        var length: Int32 = 0
        var rest: Int32 = 0
        let count = sealed.count - 16
        guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &text, &length, sealed, Int32(count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, 0x11, 16, &tag) == 1,  // EVP_CTRL_AEAD_SET_TAG
            EVP_DecryptFinal_ex(context, &text[count], &rest) == 1
        else { return nil }
        return Array(text[..<count])
    }
}
