/// HKDF with SHA-256 (RFC 5869): keys from a secret.
package struct HKDF {
    private let key: HMAC

    /// Extracts a key from a secret (section 2.2).
    package init(_ secret: [UInt8], salt: [UInt8]) {
        key = HMAC(key: hmacSHA256(secret, key: salt))
    }

    /// Expands the key to `count` bytes, at most 8160 (section 2.3).
    package func expanded(_ info: [UInt8], count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while bytes.count < count, number < 255 {
            number += 1
            block = key.code(of: block + info + [number])
            bytes += block
        }
        return Array(bytes.prefix(count))
    }
}
