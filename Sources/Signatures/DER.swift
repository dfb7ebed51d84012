/// A sequence of values in the Distinguished Encoding Rules (X.690 section 10).
struct DER {
    private(set) var rest: ArraySlice<UInt8>

    /// Universal tags (X.680 section 8.6).
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case null = 0x05
        case objectIdentifier = 0x06
        case sequence = 0x30
    }

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    /// Takes the content of the next value if it has this tag.
    mutating func take(_ tag: Tag) -> DER? {
        var after = rest
        guard after.popFirst() == tag.rawValue, let length = Self.length(&after),
            length <= after.count
        else { return nil }
        let content = DER(Array(after.prefix(length)))
        rest = after.dropFirst(length)
        return content
    }

    /// Takes a positive integer: big-endian bytes without the sign byte.
    mutating func takePositive() -> [UInt8]? {
        guard let number = take(.integer)?.rest, let first = number.first, first < 0x80 else {
            return nil
        }
        let digits = number.drop { $0 == 0 }
        // DER has exactly one zero byte in front of a byte that would look negative.
        guard let highest = digits.first, number.count - digits.count == (highest >= 0x80 ? 1 : 0)
        else { return nil }
        return Array(digits)
    }

    /// Accepts only the shortest form. No key is longer than two bytes can state.
    private static func length(_ bytes: inout ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.popFirst() else { return nil }
        switch first {
        case 0..<0x80: return Int(first)
        case 0x81:
            guard let length = bytes.popFirst(), length >= 0x80 else { return nil }
            return Int(length)
        case 0x82:
            guard let high = bytes.popFirst(), high > 0, let low = bytes.popFirst() else {
                return nil
            }
            return Int(high) << 8 | Int(low)
        default: return nil
        }
    }
}
