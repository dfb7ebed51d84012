import Turnstone

/// Walks once over a JSON text. It can read all of it, or the requested values only.
///
/// Skipping is for answers of hundreds of kilobytes of which a few hundred bytes matter. It builds nothing
/// for skipped values and checks only what it needs to find their end, so an answer that was cut off is never
/// taken for a shorter one.
package struct JSONScanner {
    let bytes: [UInt8]
    var place = 0

    /// The deepest nesting that is skipped: ``skipNested()`` has one bit for each level. Nothing from OGS is
    /// deeper than 12.
    private static let depthLimit = 64

    /// The text is not JSON at this place, or is JSON that cannot be accepted.
    package struct Malformed: Error {
        /// The last byte of what is wrong, or the text's end.
        let place: Int
        let cause: Cause

        enum Cause { case syntax, duplicate, surrogate, encoding, nul, tooLargeNumber, depth }
    }

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The fault that the next byte, word or text is not what must stand here.
    func malformed() -> Malformed {
        var end = place
        if end < bytes.count, isLetter(bytes[end]) {
            while end + 1 < bytes.count, isLetter(bytes[end + 1]) { end += 1 }
        }
        return Malformed(place: end, cause: .syntax)
    }

    /// The next byte after white space. It is not consumed.
    var next: UInt8? {
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
        guard next == byte else { throw malformed() }
        place += 1
    }

    /// Whether only white space is left.
    package mutating func isAtEnd() -> Bool { next == nil }

    /// Whether the next value is an object, an array or a text.
    package mutating func isObject() -> Bool { next == UInt8(ascii: "{") }
    package mutating func isArray() -> Bool { next == UInt8(ascii: "[") }
    package mutating func isText() -> Bool { next == UInt8(ascii: "\"") }

    /// Calls `member` for each member of the next object. It must read or skip the value.
    package mutating func forEachMember(
        _ member: (inout JSONScanner, Name) throws(Malformed) -> Void
    ) throws(Malformed) {
        try forEach(from: UInt8(ascii: "{"), to: UInt8(ascii: "}")) { (scanner) throws(Malformed) in
            let name = try scanner.name()
            try scanner.take(UInt8(ascii: ":"))
            try member(&scanner, name)
        }
    }

    /// Calls `element` for each element of the next array. It must read or skip the element.
    package mutating func forEachElement(
        _ element: (inout JSONScanner) throws(Malformed) -> Void
    ) throws(Malformed) {
        try forEach(from: UInt8(ascii: "["), to: UInt8(ascii: "]"), element)
    }

    @inline(__always)
    private mutating func forEach(
        from start: UInt8, to end: UInt8, _ item: (inout JSONScanner) throws(Malformed) -> Void
    ) throws(Malformed) {
        try take(start)
        if next == end {
            place += 1
            return
        }
        repeat { try item(&self) } while try !isLast(end)
    }

    /// Consumes the comma or the end after a member or an element.
    private mutating func isLast(_ end: UInt8) throws(Malformed) -> Bool {
        guard let byte = next, byte == end || byte == UInt8(ascii: ",") else { throw malformed() }
        place += 1
        return byte == end
    }

    // MARK: Names

    /// A member's name, as its bytes stand in the text.
    package struct Name {
        @usableFromInline let range: Range<Int>
        /// The first 24 bytes in words of eight, so that comparing needs no access to the text.
        @usableFromInline let words: (UInt64, UInt64, UInt64)

        /// Whether the names are equal; `name` has at most 24 bytes.
        @inlinable @inline(__always)
        package static func ~= (name: StaticString, value: Name) -> Bool {
            guard name.utf8CodeUnitCount == value.range.count else { return false }
            return packed(name) == value.words
        }
    }

    private mutating func name() throws(Malformed) -> Name {
        let range = try textRange()
        return Name(range: range, words: packed(bytes.span, range))
    }

    /// Skips a text and returns the range of its content, in which escapes are unresolved.
    mutating func textRange() throws(Malformed) -> Range<Int> {
        try take(UInt8(ascii: "\""))
        let start = place
        guard let end = endOfText(in: bytes.span, from: start) else {
            throw Malformed(place: bytes.count, cause: .syntax)
        }
        place = end + 1
        return start..<end
    }

    // MARK: Skipping

    /// Skips the next value.
    package mutating func skip() throws(Malformed) {
        switch next {
        case UInt8(ascii: "\""): _ = try textRange()
        case UInt8(ascii: "{"), UInt8(ascii: "["): _ = try skipNested()
        case let byte? where isLiteral(byte): skipLiteral()
        default: throw malformed()
        }
    }

    /// Skips the next array and counts the arrays, objects and texts in it; `nil` after any other value.
    package mutating func count() throws(Malformed) -> Int? {
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
    ///
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
                guard depth < Self.depthLimit else { throw malformed() }
                if depth == 1 { count += 1 }
                depth += 1
                isArray = isArray << 1 | (bytes[mark] == UInt8(ascii: "[") ? 1 : 0)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard isArray & 1 == (bytes[mark] == UInt8(ascii: "]") ? 1 : 0) else {
                    throw malformed()
                }
                isArray >>= 1
                depth -= 1
                if depth == 0 {
                    self.place = place
                    return count
                }
            case UInt8(ascii: "\""):
                if depth == 1 { count += 1 }
                guard let end = endOfText(in: bytes, from: place) else { throw malformed() }
                place = end + 1
            default: break
            }
        }
        throw malformed()
    }
}

/// Whether the byte can occur in a number, `true`, `false` or `null`.
func isLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x61...0x7a, 0x2b, 0x2d, 0x2e, 0x45: true
    default: false
    }
}

private func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x41...0x5a, 0x61...0x7a: true
    default: false
    }
}
