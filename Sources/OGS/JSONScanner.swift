import Turnstone

/// Walks once over a JSON text, reads the requested values and skips the rest.
///
/// It is for answers of hundreds of kilobytes of which a few hundred bytes matter. It builds nothing for
/// skipped values and checks only what it needs to find their end, so an answer that was cut off is never
/// taken for a shorter one. Values that it reads are checked according to RFC 8259, except that the last of
/// duplicate members counts, and that NUL and bytes that are not UTF-8 are replaced: NUL would end a text in
/// C.
struct JSONScanner {
    private let bytes: [UInt8]
    private var place = 0

    /// The maximum nesting depth. Nothing from OGS is deeper than 12.
    private static let depthLimit = 64

    struct Malformed: Error {}

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The next byte after white space. It is not consumed.
    private var next: UInt8? {
        @inline(__always)
        mutating get {
            guard place < bytes.count else { return nil }
            let byte = bytes[place]
            return byte > 0x20 ? byte : nextAfterBlanks()
        }
    }

    private mutating func nextAfterBlanks() -> UInt8? {
        while place < bytes.count {
            let byte = bytes[place]
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
            place += 1
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(Malformed) {
        guard next == byte else { throw Malformed() }
        place += 1
    }

    /// Whether only white space is left.
    mutating func isAtEnd() -> Bool { next == nil }

    /// Whether the next value is an object, an array or a text.
    mutating func isObject() -> Bool { next == UInt8(ascii: "{") }
    mutating func isArray() -> Bool { next == UInt8(ascii: "[") }
    mutating func isText() -> Bool { next == UInt8(ascii: "\"") }

    /// Calls `member` for each member of the next object. It must read or skip the value.
    mutating func forEachMember(
        _ member: (inout JSONScanner, Name) throws(Malformed) -> Void
    ) throws(Malformed) {
        try take(UInt8(ascii: "{"))
        if next == UInt8(ascii: "}") {
            place += 1
            return
        }
        while true {
            let name = try name()
            try take(UInt8(ascii: ":"))
            try member(&self, name)
            if try isLast(UInt8(ascii: "}")) { return }
        }
    }

    /// Calls `element` for each element of the next array. It must read or skip the element.
    mutating func forEachElement(
        _ element: (inout JSONScanner) throws(Malformed) -> Void
    ) throws(Malformed) {
        try take(UInt8(ascii: "["))
        if next == UInt8(ascii: "]") {
            place += 1
            return
        }
        while true {
            try element(&self)
            if try isLast(UInt8(ascii: "]")) { return }
        }
    }

    /// Consumes the comma or the end after a member or an element.
    private mutating func isLast(_ end: UInt8) throws(Malformed) -> Bool {
        guard let byte = next, byte == end || byte == UInt8(ascii: ",") else { throw Malformed() }
        place += 1
        return byte == end
    }

    // MARK: Names and texts

    /// A member's name, as its bytes stand in the text.
    struct Name {
        fileprivate let range: Range<Int>
        /// The first 24 bytes in words of eight, so that comparing needs no access to the text.
        fileprivate let words: (UInt64, UInt64, UInt64)

        /// Whether the names are equal; `name` has at most 24 bytes.
        @inline(__always)
        static func ~= (name: StaticString, value: Name) -> Bool {
            guard name.utf8CodeUnitCount == value.range.count else { return false }
            return packed(name) == value.words
        }
    }

    /// The name as it stands in the text, escapes unresolved.
    func text(of name: Name) throws(Malformed) -> String {
        let content = bytes[name.range]
        guard content.allSatisfy({ $0 >= 0x20 }) else { throw Malformed() }
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func name() throws(Malformed) -> Name {
        let range = try textRange()
        return Name(range: range, words: packed(bytes.span, range))
    }

    /// Skips a text and returns the range of its content.
    private mutating func textRange() throws(Malformed) -> Range<Int> {
        try take(UInt8(ascii: "\""))
        let start = place
        guard let end = endOfText(in: bytes.span, from: start) else { throw Malformed() }
        place = end + 1
        return start..<end
    }

    /// Reads the next text with its escapes resolved; `nil` after skipping any other value.
    mutating func text() throws(Malformed) -> String? {
        guard isText() else {
            try skip()
            return nil
        }
        let content = bytes[try textRange()]
        guard content.allSatisfy({ $0 >= 0x20 }) else { throw Malformed() }
        guard content.contains(UInt8(ascii: "\\")) else {
            return String(decoding: content, as: UTF8.self)
        }
        return try unescaped(content)
    }

    private func unescaped(_ content: ArraySlice<UInt8>) throws(Malformed) -> String {
        var units: [UInt16] = []
        var text = ""
        var rest = content
        func flush() {
            text += String(decoding: units, as: UTF16.self)
            units = []
        }
        while let byte = rest.first {
            guard byte == UInt8(ascii: "\\") else {
                flush()
                let plain = rest.prefix { $0 != UInt8(ascii: "\\") }
                text += String(decoding: plain, as: UTF8.self)
                rest = rest[plain.endIndex...]
                continue
            }
            guard rest.count >= 2 else { throw Malformed() }
            let letter = rest[rest.startIndex + 1]
            rest = rest.dropFirst(2)
            if letter == UInt8(ascii: "u") {
                let unit = try unit(rest.prefix(4))
                units.append(unit == 0 ? 0xfffd : unit)
                rest = rest.dropFirst(4)
            } else {
                guard let unit = escapes.first(where: { $0.0 == letter })?.1 else {
                    throw Malformed()
                }
                units.append(unit)
            }
        }
        flush()
        return text
    }

    /// The value of four hex digits.
    private func unit(_ digits: ArraySlice<UInt8>) throws(Malformed) -> UInt16 {
        guard digits.count == 4 else { throw Malformed() }
        var unit: UInt16 = 0
        for digit in digits {
            guard let value = hexValue(digit) else { throw Malformed() }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    // MARK: Numbers

    /// Reads a number, or a text that holds one, without its fraction; `nil` after any other value or a
    /// number that does not fit into 64 bits.
    mutating func integer() throws(Malformed) -> Int64? {
        guard let first = next else { throw Malformed() }
        if first == UInt8(ascii: "\"") { return whole(bytes[try textRange()]) }
        let start = place
        try skip()
        guard isLiteral(first) else { return nil }
        let literal = bytes[start..<place]
        if words.contains(where: { literal.elementsEqual($0.utf8) }) { return nil }
        guard isNumber(literal) else { throw Malformed() }
        return whole(literal)
    }

    private func whole(_ literal: ArraySlice<UInt8>) -> Int64? {
        // Nearly every number is only digits, and eighteen of them fit.
        if literal.count <= 18, literal.allSatisfy({ (48...57).contains($0) }), !literal.isEmpty {
            return literal.reduce(0) { $0 * 10 + Int64($1 - 48) }
        }
        let text = String(decoding: literal, as: UTF8.self)
        if let number = Int64(text) { return number }
        // `rounded` would need libm, which nothing else here links.
        return Double(text).flatMap { $0.magnitude < 9e18 ? Int64($0) : nil }
    }

    // MARK: Skipping

    /// Skips the next value.
    mutating func skip() throws(Malformed) {
        switch next {
        case UInt8(ascii: "\""): _ = try textRange()
        case UInt8(ascii: "{"), UInt8(ascii: "["): _ = try skipNested()
        case let byte? where isLiteral(byte): skipLiteral()
        default: throw Malformed()
        }
    }

    /// Skips the next array and counts the arrays, objects and texts in it; `nil` after any other value.
    mutating func count() throws(Malformed) -> Int? {
        guard isArray() else {
            try skip()
            return nil
        }
        return try skipNested()
    }

    /// Skips a number, `true`, `false` or `null`: anything with their characters, because the value is not
    /// needed.
    private mutating func skipLiteral() {
        var end = place + 1
        while end < bytes.count, isLiteral(bytes[end]) { end += 1 }
        place = end
    }

    /// Skips an object or array by its brackets and texts alone. Nearly all of an answer's bytes pass here.
    /// - Returns: how many arrays, objects and texts are direct elements.
    private mutating func skipNested() throws(Malformed) -> Int {
        let text = bytes
        let bytes = text.span
        var place = place
        var isArray: UInt64 = 0  // one bit a level, the innermost lowest
        var depth = 0
        var count = 0
        while let mark = nextMark(in: bytes, from: place) {
            place = mark + 1
            switch bytes[mark] {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                guard depth < Self.depthLimit else { throw Malformed() }
                if depth == 1 { count += 1 }
                depth += 1
                isArray = isArray << 1 | (bytes[mark] == UInt8(ascii: "[") ? 1 : 0)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard isArray & 1 == (bytes[mark] == UInt8(ascii: "]") ? 1 : 0) else {
                    throw Malformed()
                }
                isArray >>= 1
                depth -= 1
                if depth == 0 {
                    self.place = place
                    return count
                }
            case UInt8(ascii: "\""):
                if depth == 1 { count += 1 }
                guard let end = endOfText(in: bytes, from: place) else { throw Malformed() }
                place = end + 1
            default: break
            }
        }
        throw Malformed()
    }
}

/// RFC 8259 section 7.
private let escapes: [(UInt8, UInt16)] = [
    (UInt8(ascii: "\""), 0x22), (UInt8(ascii: "\\"), 0x5c), (UInt8(ascii: "/"), 0x2f),
    (UInt8(ascii: "b"), 8), (UInt8(ascii: "f"), 12), (UInt8(ascii: "n"), 10),
    (UInt8(ascii: "r"), 13), (UInt8(ascii: "t"), 9),
]

private let words = ["true", "false", "null"]

/// RFC 8259 section 6.
private func isNumber(_ literal: ArraySlice<UInt8>) -> Bool {
    var rest = literal
    func takeDigits() -> Int {
        let digits = rest.prefix { (48...57).contains($0) }
        rest = rest[digits.endIndex...]
        return digits.count
    }
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    let isZero = rest.first == UInt8(ascii: "0")
    let whole = takeDigits()
    guard whole == 1 || whole > 1 && !isZero else { return false }
    if rest.first == UInt8(ascii: ".") {
        rest.removeFirst()
        guard takeDigits() > 0 else { return false }
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
        rest.removeFirst()
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        guard takeDigits() > 0 else { return false }
    }
    return rest.isEmpty
}

/// Whether the byte can occur in a number, `true`, `false` or `null`.
private func isLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x61...0x7a, 0x2b, 0x2d, 0x2e, 0x45: true
    default: false
    }
}
