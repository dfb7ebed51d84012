import CUnix

/// Whether some bytes occur within a range of others. C: `memmem(3)`.
package func isInside(_ needle: [UInt8], _ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    firstPlace(of: needle, in: bytes, range) != nil
}

/// Where some bytes occur first within a range of others. C: `memmem(3)`.
package func firstPlace(of needle: [UInt8], in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    return bytes.withUnsafeBytes { bytes in
        needle.withUnsafeBytes { needle in
            guard let start = bytes.baseAddress,
                let found = memmem(
                    start + range.lowerBound, range.count, needle.baseAddress, needle.count)
            else { return nil }
            return UnsafeRawPointer(found) - start
        }
    }
}
