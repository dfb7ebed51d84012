import JSON
import Turnstone

/// Parses a line as a JSON object; `nil` if it is not one.
///
/// Nearly all lines have the form that the spool itself writes: no blanks, plain strings, whole numbers and
/// `true`. They are parsed here, in a tenth of the time that jansson takes. All other lines are parsed by
/// ``JSON``.
func members(of line: ArraySlice<UInt8>) -> JSONObject? {
    if let members = plainMembers(line) { return members }
    do throws(JSONError) {
        return try JSON.parse(Array(line), depthLimit: JSON.storedDepthLimit).object
    } catch { return nil }
}

private func plainMembers(_ line: ArraySlice<UInt8>) -> JSONObject? {
    var rest = line
    guard rest.popFirst() == UInt8(ascii: "{") else { return nil }
    var members = JSONObject()
    while true {
        guard let name = plainText(&rest), rest.popFirst() == UInt8(ascii: ":"),
            members[name] == nil, let value = plainValue(&rest)
        else { return nil }
        members.append(name, value)
        switch rest.popFirst() {
        case UInt8(ascii: ","): continue
        case UInt8(ascii: "}"): return rest.isEmpty ? members : nil
        default: return nil
        }
    }
}

private func plainValue(_ rest: inout ArraySlice<UInt8>) -> JSONValue? {
    guard let first = rest.first else { return nil }
    switch first {
    case UInt8(ascii: "\""): return plainText(&rest).map { .string($0) }
    case UInt8(ascii: "t"):
        guard rest.starts(with: "true".utf8) else { return nil }
        rest = rest.dropFirst(4)
        return true
    case UInt8(ascii: "1")...UInt8(ascii: "9"):
        var number: Int64 = 0
        let digits = rest.prefix { isDigit($0) }
        guard digits.count <= 18 else { return nil }
        for digit in digits { number = number * 10 + Int64(digit - UInt8(ascii: "0")) }
        rest = rest[digits.endIndex...]
        return .integer(number)
    case UInt8(ascii: "0"):
        rest = rest.dropFirst()
        return rest.first.map(isDigit) == true ? nil : .integer(0)
    default: return nil
    }
}

/// Reads a string of printable ASCII without escapes.
private func plainText(_ rest: inout ArraySlice<UInt8>) -> String? {
    guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
    let text = rest.prefix { isPlain($0) }
    rest = rest[text.endIndex...]
    guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
    return String(decoding: text, as: UTF8.self)
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// Whether a byte is printable ASCII that needs no escape in a JSON string.
func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}
