import CUnix

/// Whether some bytes occur within a range of others. C: `memmem(3)`.
package func isInside(_ needle: [UInt8], _ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return bytes.withUnsafeBytes { bytes in
        needle.withUnsafeBytes { needle in
            memmem(
                bytes.baseAddress.map { $0 + range.lowerBound }, range.count, needle.baseAddress,
                needle.count) != nil
        }
    }
}
