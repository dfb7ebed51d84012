/// Walks once over a JSON text, taking what is asked for and stepping over the rest.
///
/// For answers of hundreds of kilobytes of which a few hundred bytes matter: it builds nothing for what it
/// steps over, and so does not refuse duplicate members or odd numbers in there. What it does hold
/// against the text is its structure: an answer that was cut is never taken for a shorter one.
struct JSONScanner {
    private let bytes: [UInt8]
    private var place = 0

    /// How deep values may be nested: nothing from OGS is deeper than 12.
    private static let depthLimit = 64

    struct Malformed: Error {}

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var next: UInt8? {
        mutating get {
            while place < bytes.count {
                switch bytes[place] {
                case 0x20, 0x09, 0x0a, 0x0d: place += 1
                case let byte: return byte
                }
            }
            return nil
        }
    }

    private mutating func take(_ byte: UInt8) throws(Malformed) {
        guard next == byte else { throw Malformed() }
        place += 1
    }

    /// Whether nothing but blanks is left.
    mutating func isAtEnd() -> Bool { next == nil }

    /// Whether the next value is an object, an array or a text.
    mutating func isObject() -> Bool { next == UInt8(ascii: "{") }
    mutating func isArray() -> Bool { next == UInt8(ascii: "[") }
    mutating func isText() -> Bool { next == UInt8(ascii: "\"") }

    /// Calls `member` for each member of the object that comes next; it must take or skip the value.
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

    /// Calls `element` for each element of the array that comes next; it must take or skip it.
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

    /// Takes the comma or the end that follows a member or an element.
    private mutating func isLast(_ end: UInt8) throws(Malformed) -> Bool {
        guard let byte = next, byte == end || byte == UInt8(ascii: ",") else { throw Malformed() }
        place += 1
        return byte == end
    }

    // MARK: Names and texts

    /// A member's name, as its bytes stand in the text.
    struct Name {
        fileprivate let bytes: ArraySlice<UInt8>

        static func ~= (name: StaticString, value: Name) -> Bool {
            guard name.utf8CodeUnitCount == value.bytes.count else { return false }
            return name.withUTF8Buffer { $0.elementsEqual(value.bytes) }
        }

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private mutating func name() throws(Malformed) -> Name {
        let range = try textRange()
        return Name(bytes: bytes[range])
    }

    /// Steps over a text and returns where its content is.
    private mutating func textRange() throws(Malformed) -> Range<Int> {
        try take(UInt8(ascii: "\""))
        let start = place
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                place += 1
                return start..<(place - 1)
            case UInt8(ascii: "\\"): place += 2
            case 0..<0x20: throw Malformed()
            default: place += 1
            }
        }
        throw Malformed()
    }

    /// Takes the text that comes next, its escapes resolved; `nil` after stepping over anything else.
    mutating func text() throws(Malformed) -> String? {
        guard isText() else {
            try skip()
            return nil
        }
        let content = bytes[try textRange()]
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
                guard let unit = UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16),
                    rest.count >= 4
                else { throw Malformed() }
                units.append(unit)
                rest = rest.dropFirst(4)
            } else {
                guard let unit = escapes.first(where: { $0.0 == letter })?.1 else { throw Malformed() }
                units.append(unit)
            }
        }
        flush()
        return text
    }

    // MARK: Numbers

    /// Takes a number, or a text that holds one, without its fraction; `nil` after anything else or what
    /// 64 bits cannot hold.
    mutating func integer() throws(Malformed) -> Int64? {
        if isText() { return try text().flatMap { Int64($0) } }
        guard let first = next, first == UInt8(ascii: "-") || (48...57).contains(first) else {
            try skip()
            return nil
        }
        let start = place
        try skip()
        let digits = bytes[start..<place]
        if let plain = Int64(String(decoding: digits, as: UTF8.self)) { return plain }
        guard let number = Double(String(decoding: digits, as: UTF8.self)) else {
            throw Malformed()
        }
        return number.magnitude < 9e18 ? Int64(number) : nil
    }

    // MARK: Stepping over

    /// Steps over the value that comes next.
    mutating func skip() throws(Malformed) {
        switch next {
        case UInt8(ascii: "\""): _ = try textRange()
        case UInt8(ascii: "{"), UInt8(ascii: "["): _ = try skipNested()
        case UInt8(ascii: "t"): try skipWord("true")
        case UInt8(ascii: "f"): try skipWord("false")
        case UInt8(ascii: "n"): try skipWord("null")
        case let byte? where byte == UInt8(ascii: "-") || (48...57).contains(byte): skipNumber()
        default: throw Malformed()
        }
    }

    /// Steps over the array that comes next and counts its elements; `nil` after anything else.
    mutating func count() throws(Malformed) -> Int? {
        guard isArray() else {
            try skip()
            return nil
        }
        return try skipNested()
    }

    private mutating func skipWord(_ word: StaticString) throws(Malformed) {
        let end = place + word.utf8CodeUnitCount
        guard end <= bytes.count,
            word.withUTF8Buffer({ $0.elementsEqual(bytes[place..<end]) })
        else { throw Malformed() }
        place = end
    }

    private mutating func skipNumber() {
        while place < bytes.count {
            switch bytes[place] {
            case 48...57, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"),
                UInt8(ascii: "E"):
                place += 1
            default: return
            }
        }
    }

    /// Steps over an object or array by its brackets and texts alone: this is where nearly all of an
    /// answer's bytes go.
    /// - Returns: how many values stand directly in it.
    private mutating func skipNested() throws(Malformed) -> Int {
        var isArray: UInt64 = 0  // one bit a level, the innermost lowest
        var depth = 0
        var commas = 0
        var isEmpty = true
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                guard depth < Self.depthLimit else { throw Malformed() }
                if depth == 1 { isEmpty = false }
                depth += 1
                isArray = isArray << 1 | (byte == UInt8(ascii: "[") ? 1 : 0)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard isArray & 1 == (byte == UInt8(ascii: "]") ? 1 : 0) else { throw Malformed() }
                isArray >>= 1
                depth -= 1
                if depth == 0 { return isEmpty ? 0 : commas + 1 }
            case UInt8(ascii: "\""):
                if depth == 1 { isEmpty = false }
                place -= 1
                _ = try textRange()
            case UInt8(ascii: ","): if depth == 1 { commas += 1 }
            case 0x20, 0x09, 0x0a, 0x0d: break
            default: if depth == 1 { isEmpty = false }
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
