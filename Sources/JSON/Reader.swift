import CJansson
import Turnstone

/// Converts jansson's values to ours.
struct Reader {
    private let depthLimit: Int
    private var texts: NumberTexts
    /// The count of numbers converted so far.
    private var numbers = 0

    init(_ text: [UInt8], depthLimit: Int) {
        self.depthLimit = depthLimit
        texts = NumberTexts(text)
    }

    /// - Parameter depth: the number of objects and arrays around the value.
    /// - Returns: `nil` if it is nested too deeply.
    mutating func value(_ json: UnsafeMutablePointer<json_t>, depth: Int = 0) -> JSONValue? {
        switch cjansson_typeof(json) {
        case JSON_OBJECT: return depth < depthLimit ? object(json, depth: depth) : nil
        case JSON_ARRAY: return depth < depthLimit ? array(json, depth: depth) : nil
        case JSON_STRING: return .string(text(json_string_value(json), json_string_length(json)))
        case JSON_INTEGER: return integer(json_integer_value(json))
        case JSON_REAL: return .number(JSONNumber(number(), value: json_real_value(json)))
        case JSON_TRUE: return .bool(true)
        case JSON_FALSE: return .bool(false)
        default: return .null
        }
    }

    private mutating func integer(_ value: Int64) -> JSONValue {
        guard value == 0 else {
            numbers += 1
            return .integer(value)
        }
        let text = number()
        return text == "0" ? .integer(0) : .number(JSONNumber(text, value: -0.0))
    }

    /// The next number as it is written in the text.
    private mutating func number() -> String {
        defer { numbers += 1 }
        return texts.number(at: numbers)
    }

    private mutating func object(
        _ json: UnsafeMutablePointer<json_t>, depth: Int
    ) -> JSONValue? {
        var members = JSONObject()
        // In the order of the text, which the lookup of the numbers' texts relies on.
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

    private mutating func array(
        _ json: UnsafeMutablePointer<json_t>, depth: Int
    ) -> JSONValue? {
        var elements: [JSONValue] = []
        for index in 0..<json_array_size(json) {
            guard let element = value(json_array_get(json, index), depth: depth + 1) else {
                return nil
            }
            elements.append(element)
        }
        return .array(elements)
    }

    private func text(_ start: UnsafePointer<CChar>, _ count: Int) -> String {
        start.withMemoryRebound(to: UInt8.self, capacity: count) {
            String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
        }
    }
}
