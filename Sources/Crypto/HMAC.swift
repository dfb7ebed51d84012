/// HMAC-SHA-256 (RFC 2104) with one key for several messages.
package struct HMAC {
    private var inner = SHA256()
    private var outer = SHA256()

    package init(key: [UInt8]) {
        var block: [UInt8] = []
        block.reserveCapacity(64)
        block += key.count > 64 ? SHA256.hash(key) : key
        block += repeatElement(0, count: 64 - block.count)
        for place in block.indices { block[place] ^= 0x36 }
        inner.update(block)
        for place in block.indices { block[place] ^= 0x36 ^ 0x5c }
        outer.update(block)
    }

    /// - Returns: the code's 32 bytes. Compare them with `isEqualInConstantTime`.
    package func code(of message: [UInt8]) -> [UInt8] {
        var inner = inner
        inner.update(message)
        var outer = outer
        outer.update(digestOf: inner)
        return outer.finish()
    }
}

/// Computes HMAC-SHA-256 (RFC 2104).
///
/// - Returns: the code's 32 bytes. Compare them with `isEqualInConstantTime`.
package func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    HMAC(key: key).code(of: message)
}
