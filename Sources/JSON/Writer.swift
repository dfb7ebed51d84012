import Turnstone

/// Writes values as JSON text that ``JSON/parse(_:depthLimit:)`` accepts: a NUL becomes U+FFFD.
struct Writer {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(1024) }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let text): write(text)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                separate(&isFirst)
                write(element)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in object.members {
                separate(&isFirst)
                write(member.name)
                bytes.append(UInt8(ascii: ":"))
                write(member.value)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private mutating func separate(_ isFirst: inout Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            for place in 0..<utf8.count where isSpecial(utf8[place]) {
                bytes += UnsafeBufferPointer(rebasing: utf8[start..<place])
                escape(utf8[place])
                start = place + 1
            }
            bytes += UnsafeBufferPointer(rebasing: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// RFC 8259 section 7.
    private mutating func escape(_ byte: UInt8) {
        let short: UInt8? =
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
            case 0x08: UInt8(ascii: "b")
            case 0x09: UInt8(ascii: "t")
            case 0x0a: UInt8(ascii: "n")
            case 0x0c: UInt8(ascii: "f")
            case 0x0d: UInt8(ascii: "r")
            default: nil
            }
        if let short {
            bytes += [UInt8(ascii: "\\"), short]
        } else if byte == 0 {
            bytes += "\u{fffd}".utf8
        } else {
            bytes += "\\u00".utf8
            bytes += [hexDigit(byte >> 4), hexDigit(byte & 15)]
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
