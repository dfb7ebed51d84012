import CUnix
import Turnstone

extension JSONScanner {
    /// Skips a number (RFC 8259 section 6).
    ///
    /// - Returns: where it is, and whether it has neither a fraction nor an exponent.
    private mutating func numberRange() throws(Malformed) -> (range: Range<Int>, isWhole: Bool) {
        guard let first = next else { throw malformed() }
        let start = place
        var isWhole = true
        if first == UInt8(ascii: "-") { place += 1 }
        if peek == UInt8(ascii: "0") { place += 1 } else { try passDigits() }
        if peek == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            try passDigits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            isWhole = false
            place += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { place += 1 }
            try passDigits()
        }
        return (start..<place, isWhole)
    }

    private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Skips at least one digit.
    private mutating func passDigits() throws(Malformed) {
        let start = place
        while let byte = peek, isDigit(byte) { place += 1 }
        guard place > start else { throw malformed() }
    }

    /// Reads the next number.
    ///
    /// - Throws: `tooLargeNumber` for an integer beyond 64 bits or a number beyond a double.
    mutating func number() throws(Malformed) -> JSONValue {
        let (range, isWhole) = try numberRange()
        let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
        if isWhole, let number = whole(bytes[range]), !(isNegative && number == 0) {
            return .integer(number)
        }
        let text = String(decoding: bytes[range], as: UTF8.self)
        let value = strtod(text, nil)
        guard value.isFinite, !isWhole || value == 0 else {
            throw Malformed(place: range.upperBound - 1, cause: .tooLargeNumber)
        }
        return .number(JSONNumber(text, value: value))
    }

    /// Reads a number, or a text that holds one, without its fraction; `nil` after any other value or a
    /// number that does not fit into 64 bits.
    package mutating func integer() throws(Malformed) -> Int64? {
        guard let first = next else { throw malformed() }
        if first == UInt8(ascii: "\"") { return integer(in: bytes[try textRange()]) }
        guard first == UInt8(ascii: "-") || isDigit(first) else {
            try isLiteral(first) ? passWord() : skip()
            return nil
        }
        return rounded(bytes[try numberRange().range])
    }

    /// Reads the first two elements of the next array, whole numbers of at most four digits, and skips the
    /// other ones. It is for the moves of games, of which an answer has thousands.
    ///
    /// - Returns: `nil`, and nothing is consumed, if the next value is anything else, or if it has blanks,
    ///   arrays, objects or texts in it.
    package mutating func smallPair() -> (Int64, Int64)? {
        guard isArray() else { return nil }
        let text = bytes
        let bytes = text.span
        var end = place + 1
        guard let first = smallNumber(in: bytes, at: &end), end < bytes.count,
            bytes[end] == UInt8(ascii: ",")
        else { return nil }
        end += 1
        guard let second = smallNumber(in: bytes, at: &end),
            let mark = nextMark(in: bytes, from: end), bytes[mark] == UInt8(ascii: "]"),
            mark == end || bytes[end] == UInt8(ascii: ",")
        else { return nil }
        place = mark + 1
        return (first, second)
    }

    private func smallNumber(in bytes: borrowing Span<UInt8>, at place: inout Int) -> Int64? {
        let isNegative = place < bytes.count && bytes[place] == UInt8(ascii: "-")
        if isNegative { place += 1 }
        let start = place
        var number: Int64 = 0
        while place < bytes.count, place < start + 4, isDigit(bytes[place]) {
            number = number * 10 + Int64(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        guard place > start else { return nil }
        return isNegative ? -number : number
    }

    /// - Returns: `nil` unless the text is a number.
    private func integer(in text: ArraySlice<UInt8>) -> Int64? {
        if let number = whole(text) { return number }
        var scanner = JSONScanner(Array(text))
        do throws(Malformed) {
            let range = try scanner.numberRange().range
            return range.count == text.count ? rounded(text) : nil
        } catch { return nil }
    }

    /// - Parameter number: a number of JSON.
    private func rounded(_ number: ArraySlice<UInt8>) -> Int64? {
        if let number = whole(number) { return number }
        let value = strtod(String(decoding: number, as: UTF8.self), nil)
        // `rounded` would need libm, which nothing else here links.
        return value.magnitude < 9e18 ? Int64(value) : nil
    }

    /// The text's integer; `nil` if the text is anything else, or the integer does not fit into 64 bits.
    private func whole(_ text: ArraySlice<UInt8>) -> Int64? {
        // Nearly every number is only digits, and eighteen of them fit.
        if text.count <= 18, text.allSatisfy(isDigit), !text.isEmpty {
            return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }
        return Int64(String(decoding: text, as: UTF8.self))
    }
}

func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
