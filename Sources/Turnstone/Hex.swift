/// Bytes as lower-case hex, two digits each.
package func hex(_ bytes: [UInt8]) -> String { hex(bytes[...]) }

/// The same for a slice. (A generic function over sequences would cost a microsecond in other modules.)
package func hex(_ bytes: ArraySlice<UInt8>) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.count)
    for byte in bytes {
        digits.append(hexDigit(byte >> 4))
        digits.append(hexDigit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
}

/// The first digits of a hex text. (Cutting a `String` by characters needs Unicode's tables, which Embedded
/// Swift does not link by itself.)
package func firstDigits(_ count: Int, of hex: String) -> String {
    String(decoding: hex.utf8.prefix(count), as: UTF8.self)
}

/// Whether all characters are hex digits in lower case. It may say no of a text that is not stored as UTF-8.
func isLowercaseHex(_ text: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { digits in
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
            default: return false
            }
        }
        return true
    } ?? false
}

/// The digits in lower case; `nil` if one is not a hex digit.
func lowercaseHex(_ digits: [UInt8]) -> String? {
    var lowered = digits
    for index in lowered.indices {
        switch lowered[index] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
        case UInt8(ascii: "A")...UInt8(ascii: "F"): lowered[index] |= 0x20
        default: return nil
        }
    }
    return String(decoding: lowered, as: UTF8.self)
}

/// The value of a hex digit in either case.
package func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
