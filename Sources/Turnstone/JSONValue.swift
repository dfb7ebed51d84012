/// A JSON value (RFC 8259). The module `JSON` reads and writes its text.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    indirect case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A whole number in any notation: 5.0 is an integer like 5 (JSON Schema Validation, section 6.1.1).
    package var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): whole(number.value)
        default: nil
        }
    }

    package var bool: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var object: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The strings among an array's elements.
    package var texts: [String]? { array?.compactMap { $0.string } }

    package init(texts: [String]) { self = .array(texts.map { .string($0) }) }

    /// A count, such as that of a user's notices, clamped to 0 to 2^40: adding one, or a few thousand of them,
    /// never overflows.
    package var count: Int64? { integer.map { min(max($0, 0), 1 << 40) } }

    /// A moment that a document states in milliseconds since 1970. It may be any: arithmetic with moments
    /// saturates.
    package var timestamp: Timestamp? { integer.map { Timestamp(milliseconds: $0) } }

    package init(_ moment: Timestamp) {
        self = .integer(moment.milliseconds)
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object.append(name, value) }
        self = .object(object)
    }

    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
}

/// The number if it is a whole one. `Int64(exactly:)` would need the mathematics library.
private func whole(_ number: Double) -> Int64? {
    guard number.magnitude < 0x1p63 else { return nil }
    let whole = Int64(number)
    return Double(whole) == number ? whole : nil
}
