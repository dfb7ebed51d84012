/// Computes HMAC-SHA-256 (RFC 2104).
///
/// - Returns: the code's 32 bytes. Compare them with `isEqualInConstantTime`.
package func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > 64 ? SHA256.hash(key) : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    var inner = SHA256()
    inner.update(block.map { $0 ^ 0x36 })
    inner.update(message)
    var outer = SHA256()
    outer.update(block.map { $0 ^ 0x5c })
    outer.update(inner.finish())
    return outer.finish()
}
