/// Finds the next bracket or quote, or another byte that looks like one (`Y`, `_`, `y`, DEL).
///
/// It compares eight bytes at a time in one word, because an answer is mostly digits between brackets.
@inline(__always)
func nextMark(in bytes: borrowing Span<UInt8>, from start: Int) -> Int? {
    var place = start
    while place + 8 <= bytes.count {
        let word = word(bytes, place)
        // The four brackets and only a few other bytes become 0x7F with these three bits set.
        let brackets = zeroBytes((word | repeated(0x26)) ^ repeated(0x7F))
        let found = brackets | zeroBytes(word ^ repeated(UInt8(ascii: "\"")))
        if found != 0 { return place + found.trailingZeroBitCount / 8 }
        place += 8
    }
    while place < bytes.count {
        let byte = bytes[place]
        if byte | 0x26 == 0x7F || byte == UInt8(ascii: "\"") { return place }
        place += 1
    }
    return nil
}

/// Finds the closing quote of the text whose content begins at `start`.
@inline(__always)
func endOfText(in bytes: borrowing Span<UInt8>, from start: Int) -> Int? {
    var place = start
    while place < bytes.count {
        if place + 8 <= bytes.count {
            let word = word(bytes, place)
            let found =
                zeroBytes(word ^ repeated(UInt8(ascii: "\"")))
                | zeroBytes(word ^ repeated(UInt8(ascii: "\\")))
            guard found != 0 else {
                place += 8
                continue
            }
            place += found.trailingZeroBitCount / 8
        }
        switch bytes[place] {
        case UInt8(ascii: "\""): return place
        case UInt8(ascii: "\\"): place += 2
        default: place += 1
        }
    }
    return nil
}

/// The first 24 bytes in words of eight, the first byte lowest.
func packed(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> (UInt64, UInt64, UInt64) {
    let start = range.lowerBound
    guard start + 24 <= bytes.count else {
        let words = (0..<3).map { word in
            (0..<8).reduce(UInt64(0)) { sum, byte in
                let place = start + word * 8 + byte
                return place < range.upperBound ? sum | UInt64(bytes[place]) << (byte * 8) : sum
            }
        }
        return (words[0], words[1], words[2])
    }
    return (
        word(bytes, start) & mask(range.count), word(bytes, start + 8) & mask(range.count - 8),
        word(bytes, start + 16) & mask(range.count - 16)
    )
}

/// The same for a name in the program of at most 24 bytes: a constant once compiled.
@inlinable @inline(__always)
package func packed(_ name: StaticString) -> (UInt64, UInt64, UInt64) {
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    let bytes = name.utf8Start
    for place in 0..<min(name.utf8CodeUnitCount, 8) {
        words.0 |= UInt64(bytes[place]) << (place * 8)
    }
    for place in 8..<max(8, min(name.utf8CodeUnitCount, 16)) {
        words.1 |= UInt64(bytes[place]) << (place * 8 - 64)
    }
    for place in 16..<max(16, min(name.utf8CodeUnitCount, 24)) {
        words.2 |= UInt64(bytes[place]) << (place * 8 - 128)
    }
    return words
}

/// Eight bytes, which must exist, the first byte lowest.
@inline(__always)
private func word(_ bytes: borrowing Span<UInt8>, _ place: Int) -> UInt64 {
    UInt64(
        littleEndian: bytes.bytes.unsafeLoadUnaligned(
            fromUncheckedByteOffset: place, as: UInt64.self))
}

/// Ones for the lowest `count` bytes.
@inline(__always)
private func mask(_ count: Int) -> UInt64 {
    count >= 8 ? .max : ~(.max << UInt64(max(0, count) * 8))
}

/// Sets the highest bit of the lowest zero byte. Bits above that byte may be set wrongly.
private func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- repeated(0x01)) & ~word & repeated(0x80)
}

private func repeated(_ byte: UInt8) -> UInt64 {
    UInt64(byte) &* 0x0101_0101_0101_0101
}
