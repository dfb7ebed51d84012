import Crypto
import Testing
import Turnstone
import Unix

@testable import WebPush

/// A browser that has subscribed: it has the private half of its key and reads messages.
struct Browser {
    let subscription: PushSubscription
    let privateKey: [UInt8]
    private let key: AgreementKey

    init(endpoint: String = "https://push.example.net/push/1") throws {
        key = try AgreementKey()
        privateKey = try randomBytes(32)
        // Nearly every number is a private key.
        try #require(key.take(privateKey: privateKey))
        subscription = try PushSubscription([
            "endpoint": .string(endpoint), "expirationTime": .null,
            "keys": [
                "p256dh": .string(base64URL(key.point)),
                "auth": .string(base64URL([UInt8](repeating: 7, count: 16))),
            ],
        ])
    }

    /// Reads a body as RFC 8291 section 3 says.
    func decrypt(_ body: [UInt8]) throws -> [UInt8] {
        let theirs = Array(body[21..<86])
        let secret = try #require(key.secret(with: theirs))
        let input = HKDF(secret, salt: subscription.secret).expanded(
            Array("WebPush: info\0".utf8) + subscription.publicKey + theirs, count: 32)
        let keys = HKDF(input, salt: Array(body[..<16]))
        let contentKey = keys.expanded(Array("Content-Encoding: aes128gcm\0".utf8), count: 16)
        let nonce = keys.expanded(Array("Content-Encoding: nonce\0".utf8), count: 12)
        // Counter mode is its own inverse; the tag shows whether the text is the right one.
        let cipher = try AES128GCM()
        let sealed = Array(body[86...])
        var text: [UInt8] = []
        try cipher.seal(Array(sealed.dropLast(16)), key: contentKey, nonce: nonce, onto: &text)
        text.removeLast(16)
        var again: [UInt8] = []
        try cipher.seal(text, key: contentKey, nonce: nonce, onto: &again)
        try #require(again == sealed)
        let end = try #require(text.lastIndex { $0 != 0 })
        try #require(text[end] == 2)
        return Array(text[..<end])
    }
}
