import Turnstone

extension JSONScanner {
    /// The text whose content is at `range`.
    ///
    /// - Throws: what RFC 8259 does not allow, and NUL: it would end a text in C.
    func strictText(_ range: Range<Int>) throws(Malformed) -> String {
        if let text = verbatim(range) { return text }
        return try unescaped(range, isStrict: true)
    }

    /// Reads the next text; `nil` after skipping any other value. NUL and bytes that are not UTF-8 are
    /// replaced.
    package mutating func text() throws(Malformed) -> String? {
        guard isText() else {
            try skip()
            return nil
        }
        return try unescaped(try textRange(), isStrict: false)
    }

    /// The name as written in the text, escapes unresolved.
    package func text(of name: Name) throws(Malformed) -> String {
        try checkControls(in: name.range)
        return String(decoding: bytes[name.range], as: UTF8.self)
    }

    /// The text's content; `nil` unless it is ASCII without control characters and escapes.
    private func verbatim(_ range: Range<Int>) -> String? {
        let span = bytes.span
        for place in range {
            let byte = span[place]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\\") else { return nil }
        }
        return String(decoding: bytes[range], as: UTF8.self)
    }

    private func checkControls(in range: Range<Int>) throws(Malformed) {
        guard let place = bytes[range].firstIndex(where: { $0 < 0x20 }) else { return }
        throw Malformed(place: place, cause: .syntax)
    }

    /// Resolves escapes (RFC 8259 section 7).
    ///
    /// - Parameter isStrict: whether NUL, half a surrogate pair and bytes that are not UTF-8 are refused.
    ///   Otherwise U+FFFD replaces them.
    private func unescaped(_ range: Range<Int>, isStrict: Bool) throws(Malformed) -> String {
        try checkControls(in: range)
        var text = ""
        var units: [UInt16] = []
        var place = range.lowerBound
        let end = range.upperBound
        func flush() throws(Malformed) {
            guard !units.isEmpty else { return }
            if isStrict, !isPaired(units) { throw Malformed(place: end, cause: .surrogate) }
            text += String(decoding: units, as: UTF16.self)
            units = []
        }
        while place < end {
            guard bytes[place] == UInt8(ascii: "\\") else {
                try flush()
                let verbatim = bytes[place..<end].prefix { $0 != UInt8(ascii: "\\") }
                let decoded = String(decoding: verbatim, as: UTF8.self)
                // Bytes that are not UTF-8 were replaced.
                if isStrict, !decoded.utf8.elementsEqual(verbatim) {
                    throw Malformed(place: end, cause: .encoding)
                }
                text += decoded
                place = verbatim.endIndex
                continue
            }
            let escape = place + 1
            place += 2
            if bytes[escape] == UInt8(ascii: "u") {
                let unit = try unit(place, end: end)
                if unit == 0, isStrict { throw Malformed(place: end, cause: .nul) }
                units.append(unit == 0 ? 0xfffd : unit)
                place += 4
            } else {
                guard let unit = character(ofEscape: bytes[escape]) else {
                    throw Malformed(place: escape, cause: .syntax)
                }
                units.append(unit)
            }
        }
        try flush()
        return text
    }

    /// The value of four hex digits.
    private func unit(_ start: Int, end: Int) throws(Malformed) -> UInt16 {
        var unit: UInt16 = 0
        for place in start..<start + 4 {
            guard place < end, let value = hexValue(bytes[place]) else {
                throw Malformed(place: min(place, end), cause: .syntax)
            }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }
}

/// Whether each surrogate has its other half (RFC 8259 section 8.2).
private func isPaired(_ units: [UInt16]) -> Bool {
    var isHalf = false
    for unit in units {
        switch unit {
        case 0xd800...0xdbff:
            guard !isHalf else { return false }
            isHalf = true
        case 0xdc00...0xdfff:
            guard isHalf else { return false }
            isHalf = false
        default: guard !isHalf else { return false }
        }
    }
    return !isHalf
}

private func character(ofEscape letter: UInt8) -> UInt16? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): UInt16(letter)
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0c
    case UInt8(ascii: "n"): 0x0a
    case UInt8(ascii: "r"): 0x0d
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
}
