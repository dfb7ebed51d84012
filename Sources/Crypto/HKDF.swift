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
        var input = info
        for number in 1...UInt8.max {
            input.append(number)
            let block = key.code(of: input)
            bytes = bytes.isEmpty ? block : bytes + block
            guard bytes.count < count else { break }
            input = block + info
        }
        if bytes.count > count { bytes.removeLast(bytes.count - count) }
        return bytes
    }
}
