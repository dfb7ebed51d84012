import COpenSSL

/// SHA-256 (FIPS 180-4) by OpenSSL's low-level calls. The EVP interface would first spend a millisecond on
/// its setup, which is more than everything else that an endpoint does.
package struct SHA256 {
    private var context = SHA256_CTX()

    package init() {
        SHA256_Init(&context)
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = SHA256_Update(&context, $0.baseAddress, $0.count) }
    }

    /// Adds a text's UTF-8.
    package mutating func update(_ text: String) {
        let added: Void? = text.utf8.withContiguousStorageIfAvailable {
            _ = SHA256_Update(&context, $0.baseAddress, $0.count)
        }
        if added == nil { update(Array(text.utf8)) }
    }

    /// Adds the digest of something else.
    mutating func update(digestOf other: consuming SHA256) {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { digest in
            SHA256_Final(digest.baseAddress, &other.context)
            SHA256_Update(&context, digest.baseAddress, 32)
        }
    }

    /// The digest's 32 bytes.
    package consuming func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            SHA256_Final(buffer.baseAddress, &context)
            count = 32
        }
    }

    package static func hash(_ text: String) -> [UInt8] {
        var sum = SHA256()
        sum.update(text)
        return sum.finish()
    }

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var sum = SHA256()
        sum.update(bytes)
        return sum.finish()
    }
}
