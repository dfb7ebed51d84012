import COpenSSL
import Crypto
import Turnstone

/// Encrypts messages so that only one browser can read them (RFC 8291, with the content coding aes128gcm of
/// RFC 8188). Each message has a key pair and a salt of its own.
package final class MessageEncryption {
    /// The most bytes that every push service accepts (RFC 8030 section 7.2).
    package static let limit = 4096
    /// The most bytes of a message: header, delimiter and tag take the rest.
    package static let messageLimit = limit - headerLength - AES128GCM.tagLength - 1
    /// Salt, record size, length of the key, and our public key (RFC 8188 section 2.1).
    private static let headerLength = 16 + 4 + 1 + 65
    /// Messages are padded to a multiple of this, so that their length does not tell them apart.
    private static let paddingStep = 256

    private let key: AgreementKey
    private let cipher: AES128GCM

    package init() throws(Failure) {
        key = try AgreementKey()
        cipher = try AES128GCM()
    }

    /// Encrypts a message of at most ``messageLimit`` bytes.
    ///
    /// - Returns: the request's body; `nil` if the browser's public key is not on the curve.
    package func encrypt(
        _ message: [UInt8], for browser: PushSubscription
    ) throws(Failure) -> [UInt8]? {
        let padded = (message.count / Self.paddingStep + 1) * Self.paddingStep
        let room = min(padded, Self.messageLimit + 1)
        try key.renew()
        return try seal(
            message, for: browser, salt: try randomSalt(),
            padding: max(0, room - message.count - 1))
    }

    /// Encrypts a message with a known key pair and salt, for examples.
    func encrypt(
        _ message: [UInt8], for browser: PushSubscription, privateKey: [UInt8], salt: [UInt8]
    ) throws(Failure) -> [UInt8]? {
        guard key.take(privateKey: privateKey) else { return nil }
        return try seal(message, for: browser, salt: salt, padding: 0)
    }

    private func seal(
        _ message: [UInt8], for browser: PushSubscription, salt: [UInt8], padding: Int
    ) throws(Failure) -> [UInt8]? {
        guard message.count <= Self.messageLimit else {
            throw Failure(
                .refused(.tooLarge),
                "the message has \(message.count) bytes; the limit is \(Self.messageLimit)",
                cause: "PayloadTooLarge")
        }
        guard let secret = key.secret(with: browser.publicKey) else { return nil }
        let ours = key.point
        // RFC 8291 section 3.4.
        let input = HKDF(secret, salt: browser.secret)
            .expanded(Self.keyInfo + browser.publicKey + ours, count: 32)
        let keys = HKDF(input, salt: salt)
        var record: [UInt8] = []
        record.reserveCapacity(message.count + 1 + padding)
        record += message
        record.append(2)  // the last record's delimiter (RFC 8188 section 2)
        record += repeatElement(0, count: padding)

        var body: [UInt8] = []
        body.reserveCapacity(Self.headerLength + record.count + AES128GCM.tagLength)
        body += salt
        // The record size, 4096, is no smaller than the only record; then the length of our key.
        body += Self.sizes
        body += ours
        try cipher.seal(
            record, key: keys.expanded(Self.contentKeyInfo, count: 16),
            nonce: keys.expanded(Self.nonceInfo, count: 12), onto: &body)
        return body
    }

    private func randomSalt() throws(Failure) -> [UInt8] {
        var isDone: Int32 = 0
        let salt = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            isDone = RAND_bytes(buffer.baseAddress, 16)
            count = 16
        }
        guard isDone == 1 else { throw cryptoFailure("get random bytes") }
        return salt
    }

    private static let sizes: [UInt8] = [0, 0, 0x10, 0, 65]
    private static let keyInfo = Array("WebPush: info".utf8) + [0]
    private static let contentKeyInfo = Array("Content-Encoding: aes128gcm".utf8) + [0]
    private static let nonceInfo = Array("Content-Encoding: nonce".utf8) + [0]
}
