/// Little-endian words of 8 bytes, of which small binary files consist.
package enum Words {
    package static func bytes(of words: [Int64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(words.count * 8)
        for word in words {
            withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The words in the bytes. Bytes after the last whole word are left out.
    package static func all(in bytes: [UInt8]) -> [Int64] {
        bytes.withUnsafeBytes { bytes in
            [Int64](unsafeUninitializedCapacity: bytes.count / 8) { words, filled in
                filled = bytes.count / 8
                for place in 0..<filled {
                    words[place] = Int64(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: place * 8, as: Int64.self))
                }
            }
        }
    }

    /// A number that differs if any of the words differs, or their order.
    package static func sum(_ words: ArraySlice<Int64>) -> Int64 {
        var sum: UInt64 = 0x9e37_79b9_7f4a_7c15
        for word in words {
            sum = (sum ^ UInt64(bitPattern: word)) &* 0xff51_afd7_ed55_8ccd
            sum ^= sum >> 32
        }
        return Int64(bitPattern: sum)
    }

    /// A number that differs if one word differs, and almost certainly after any other damage. It is no
    /// protection from intent.
    package static func sum(of bytes: [UInt8], in range: Range<Int>) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            var sum: UInt64 = 0x9e37_79b9_7f4a_7c15
            func add(_ word: UInt64) {
                sum = (sum ^ word) &* 0xff51_afd7_ed55_8ccd
                sum ^= sum >> 32
            }
            var place = range.lowerBound
            while range.upperBound - place >= 8 {
                add(
                    UInt64(
                        littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
                place += 8
            }
            while place < range.upperBound {
                add(UInt64(bytes[place]))
                place += 1
            }
            return sum
        }
    }
}
