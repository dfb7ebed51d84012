import CJansson
import Turnstone

/// JSON text to values and back, by jansson. For small documents: jansson takes 19 µs per kilobyte.
package enum JSON {
    /// Nesting beyond this is refused: nothing that we read is deeper than 10.
    package static let depthLimit = 64

    /// Reads one JSON value, which must be all of the text.
    ///
    /// Refuses duplicate members, invalid UTF-8, NUL in texts, integers beyond 64 bits, numbers
    /// beyond a double, and nesting beyond ``depthLimit``. C: `json_loadb`.
    package static func parse(_ text: [UInt8]) throws(JSONError) -> JSONValue {
        // jansson takes a NUL behind the value for the text's end, whatever follows.
        if let end = text.firstIndex(of: 0) { throw JSONError(of: text, at: end) }
        var problem = json_error_t()
        let flags = size_t(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)
        let root = (text.isEmpty ? [0] : text).withUnsafeBytes { buffer in
            json_loadb(
                buffer.assumingMemoryBound(to: CChar.self).baseAddress, text.count, flags, &problem)
        }
        guard let root else {
            throw JSONError(line: Int(problem.line), column: Int(problem.column))
        }
        defer { cjansson_decref(root) }
        guard let value = value(root, depth: 0) else { throw JSONError(line: 0, column: 0) }
        return value
    }

    /// Writes a value on one line, members in their order, as UTF-8. C: `json_dumpb`.
    package static func text(_ value: JSONValue) -> [UInt8] {
        let root = handle(value)
        defer { cjansson_decref(root) }
        let flags = size_t(JSON_COMPACT | JSON_ENCODE_ANY)
        var capacity = 1024
        while true {
            var needed = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, filled in
                needed = buffer.withMemoryRebound(to: CChar.self) {
                    json_dumpb(root, $0.baseAddress, capacity, flags)
                }
                filled = min(needed, capacity)
            }
            precondition(needed > 0, "a JSONValue holds what JSON cannot say")
            if needed <= capacity { return bytes }
            capacity = needed
        }
    }
}

/// Where a text stops being JSON as we take it; 0, 0 where it is nested too deeply.
package struct JSONError: Error, Equatable, Sendable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

extension JSONError {
    fileprivate init(of text: [UInt8], at place: Int) {
        let before = text[..<place]
        let line = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: place - line + 1)
    }
}

private func value(_ json: UnsafeMutablePointer<json_t>, depth: Int) -> JSONValue? {
    switch cjansson_typeof(json) {
    case JSON_OBJECT: return depth < JSON.depthLimit ? object(json, depth: depth) : nil
    case JSON_ARRAY: return depth < JSON.depthLimit ? array(json, depth: depth) : nil
    case JSON_STRING: return .string(text(json_string_value(json), json_string_length(json)))
    case JSON_INTEGER: return .integer(json_integer_value(json))
    case JSON_REAL: return .number(json_real_value(json))
    case JSON_TRUE: return .bool(true)
    case JSON_FALSE: return .bool(false)
    default: return .null
    }
}

private func object(_ json: UnsafeMutablePointer<json_t>, depth: Int) -> JSONValue? {
    var members = JSONObject()
    var place = json_object_iter(json)
    while let current = place {
        let name = String(cString: json_object_iter_key(current))
        guard let member = value(json_object_iter_value(current), depth: depth + 1) else {
            return nil
        }
        members.append(name, member)
        place = json_object_iter_next(json, current)
    }
    return .object(members)
}

private func array(_ json: UnsafeMutablePointer<json_t>, depth: Int) -> JSONValue? {
    var elements: [JSONValue] = []
    for index in 0..<json_array_size(json) {
        guard let element = value(json_array_get(json, index), depth: depth + 1) else { return nil }
        elements.append(element)
    }
    return .array(elements)
}

private func text(_ start: UnsafePointer<CChar>, _ count: Int) -> String {
    start.withMemoryRebound(to: UInt8.self, capacity: count) {
        String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
    }
}

/// A new reference, which the caller owns. Memory that runs out ends the process, as in Swift.
private func handle(_ value: JSONValue) -> UnsafeMutablePointer<json_t> {
    switch value {
    case .null: return json_null()
    case .bool(let flag): return flag ? json_true() : json_false()
    case .integer(let number): return json_integer(number)
    case .number(let number): return json_real(number)
    case .string(let string):
        var text = string
        return text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) {
                json_stringn_nocheck($0.baseAddress ?? UnsafePointer(emptyText), $0.count)
            }
        }
    case .array(let elements):
        let array = json_array()!
        for element in elements { json_array_append_new(array, handle(element)) }
        return array
    case .object(let object):
        let json = json_object()!
        for member in object.members {
            json_object_set_new_nocheck(json, member.name, handle(member.value))
        }
        return json
    }
}

/// What an empty text points at: jansson takes no null.
nonisolated(unsafe) private let emptyText = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
