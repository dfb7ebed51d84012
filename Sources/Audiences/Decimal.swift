import Turnstone

/// A decimal number, compared exactly: doubles would make two long ids equal.
package struct Decimal: Sendable {
    private let isNegative: Bool
    /// The digits without zeros at either end; none for 0.
    private let digits: [UInt8]
    /// The number is 0.DIGITS times ten to the power of this.
    private let exponent: Int

    /// Reads a number as JSON writes it (RFC 8259 section 6).
    ///
    /// - Parameter allowsExponent: whether `1e5` is a number. In a text that a person typed it may be an id.
    @export(interface)
    package init?(_ text: String, allowsExponent: Bool) {
        var rest = Array(text.utf8)[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        let whole = takeDigits(&rest)
        guard let first = whole.first, first != UInt8(ascii: "0") || whole.count == 1 else {
            return nil
        }
        var fraction: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = takeDigits(&rest)
            guard !fraction.isEmpty else { return nil }
        }
        var power = 0
        if allowsExponent, let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            let isDown = rest.first == UInt8(ascii: "-")
            if isDown || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
            let text = takeDigits(&rest)
            guard !text.isEmpty else { return nil }
            // Beyond this all numbers are equally large or small.
            let size = text.reduce(0) { min($0 * 10 + Int($1 - 48), 100_000) }
            power = isDown ? -size : size
        }
        guard rest.isEmpty else { return nil }
        let all = whole + fraction
        let significant = all.drop { $0 == UInt8(ascii: "0") }
        let trailing = significant.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        digits = Array(significant.dropLast(trailing))
        exponent = digits.isEmpty ? 0 : whole.count - (all.count - significant.count) + power
        self.isNegative = isNegative && !digits.isEmpty
    }
}

extension Decimal: Comparable {
    package static func < (left: Decimal, right: Decimal) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    /// Compares without the signs.
    private func isSmaller(than other: Decimal) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else {
            return digits.count < other.digits.count
        }
        guard exponent == other.exponent else { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}

private func takeDigits(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    let digits = Array(rest.prefix { (48...57).contains($0) })
    rest = rest.dropFirst(digits.count)
    return digits
}
