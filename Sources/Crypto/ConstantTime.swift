import COpenSSL

/// Whether two secrets are equal. It compares their digests, so the time it takes reveals neither where they
/// differ nor how long the right one is.
package func isEqualInConstantTime(_ left: String, _ right: String) -> Bool {
    isEqualInConstantTime(Array(left.utf8), Array(right.utf8))
}

/// The same for bytes.
///
/// C: `CRYPTO_memcmp`.
package func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let left = SHA256.hash(left)
    let right = SHA256.hash(right)
    return left.withUnsafeBytes { a in
        right.withUnsafeBytes { b in CRYPTO_memcmp(a.baseAddress, b.baseAddress, 32) == 0 }
    }
}
