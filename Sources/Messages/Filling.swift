import Turnstone

/// A part of a template's text: plain text or a placeholder `{name}`. `{{` and `}}` stand for braces.
private enum Part: Equatable {
    case text([UInt8])
    case placeholder(String)
}

/// Splits a template's text into its parts; `nil` if a brace is unmatched.
private func parts(of text: String) -> [Part]? {
    var parts: [Part] = []
    var plain: [UInt8] = []
    var rest = Array(text.utf8)[...]
    let open = UInt8(ascii: "{")
    let close = UInt8(ascii: "}")
    while let byte = rest.popFirst() {
        guard byte == open || byte == close else {
            plain.append(byte)
            continue
        }
        if rest.first == byte {
            rest.removeFirst()
            plain.append(byte)
            continue
        }
        guard byte == open, let end = rest.firstIndex(of: close) else { return nil }
        if !plain.isEmpty { parts.append(.text(plain)) }
        plain = []
        parts.append(.placeholder(String(decoding: rest[..<end], as: UTF8.self)))
        rest = rest[(end + 1)...]
    }
    if !plain.isEmpty { parts.append(.text(plain)) }
    return parts
}

/// The names of all placeholders in the texts of a value.
///
/// - Throws: unacceptable if a brace is unmatched.
func placeholders(in value: JSONValue, of event: String) throws(Failure) -> [String] {
    var names: [String] = []
    switch value {
    case .string(let text):
        guard let parts = parts(of: text) else {
            throw .unacceptable(
                "the template \(event) has an unmatched brace (write {{ or }} for a brace): \(text)"
            )
        }
        for case .placeholder(let name) in parts { names.append(name) }
    case .array(let elements):
        for element in elements { names += try placeholders(in: element, of: event) }
    case .object(let members):
        for member in members.members { names += try placeholders(in: member.value, of: event) }
    default: break
    }
    return names
}

/// Replaces placeholders by an event's values.
struct Filling {
    let values: JSONObject

    func filled(_ members: JSONObject) throws(Failure) -> JSONObject {
        var result = JSONObject()
        for member in members.members {
            guard let value = try filled(member.value) else { continue }
            result.append(member.name, value)
        }
        return result
    }

    /// - Returns: `nil` for a text that consists of a placeholder without a value.
    private func filled(_ value: JSONValue) throws(Failure) -> JSONValue? {
        switch value {
        case .string(let text): return try filled(parts(of: text) ?? [])
        case .array(let elements):
            var result: [JSONValue] = []
            for element in elements {
                if let element = try filled(element) { result.append(element) }
            }
            return .array(result)
        case .object(let members): return .object(try filled(members))
        default: return value
        }
    }

    /// If a placeholder is the whole text, its value may have any type. Inside a text the value must be a
    /// string or a whole number.
    private func filled(_ parts: [Part]) throws(Failure) -> JSONValue? {
        if parts.count == 1, case .placeholder(let name) = parts[0] {
            return values[name].flatMap { $0 == .null ? nil : $0 }
        }
        var bytes: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let text): bytes += text
            case .placeholder(let name): bytes += Array(try text(name).utf8)
            }
        }
        return .string(String(decoding: bytes, as: UTF8.self))
    }

    private func text(_ name: String) throws(Failure) -> String {
        switch values[name] {
        case nil, .null: return ""
        case .string(let text): return text
        case let value?:
            guard let number = value.integer else {
                throw .malformed("the value \(name) must be a string or a whole number")
            }
            return String(number)
        }
    }
}
