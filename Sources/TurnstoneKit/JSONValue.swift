import Foundation

/// A JSON value whose shape an app chooses: the `data` of a message, or a tag.
///
/// Numbers are kept as `Double`, or as `Int64` where they are whole.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var int: Int64? { if case .int(let value) = self { value } else { nil } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    public var object: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }
}

/// Literals are values, such as in `["language": "de", "tags": ["role": "admin", "rank": 12]]`.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Of members with the same name the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

extension JSONValue: Codable {
    /// How many levels of arrays and objects are read and sent.
    static let maximalDepth = 64

    /// - Throws: `DecodingError` for arrays and objects within 64 others.
    public init(from decoder: any Decoder) throws {
        // A thread's stack is small, and each level takes some kilobytes of it.
        let isTooDeep = DecodingError.dataCorrupted(
            .init(codingPath: [], debugDescription: "more than \(Self.maximalDepth) levels"))
        let depth = decoder.codingPath.count
        guard depth <= Self.maximalDepth else { throw isTooDeep }
        let container = try decoder.singleValueContainer()
        self =
            if container.decodeNil() {
                .null
            } else if let value = try? container.decode(Bool.self) {
                .bool(value)
            } else if let value = try? container.decode(Int64.self) {
                .int(value)
            } else if let value = try? container.decode(Double.self) {
                .double(value)
            } else if let value = try? container.decode(String.self) {
                .string(value)
            } else if depth == Self.maximalDepth {
                throw isTooDeep
            } else if let value = try? container.decode([JSONValue].self) {
                .array(value)
            } else {
                .object(try container.decode([String: JSONValue].self))
            }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// Whether there are arrays or objects within 64 others. It looks no deeper.
    var isTooDeep: Bool { isDeeper(than: Self.maximalDepth) }

    private func isDeeper(than levels: Int) -> Bool {
        switch self {
        case .array(let values):
            levels == 0 || values.contains { $0.isDeeper(than: levels - 1) }
        case .object(let members):
            levels == 0 || members.values.contains { $0.isDeeper(than: levels - 1) }
        default: false
        }
    }
}

extension JSONValue {
    /// The value of a property list or of `JSONSerialization`; nil if it is not a JSON value. A member of an
    /// object that is none is left out; an array with one is none itself.
    ///
    /// A number that was a JSON boolean is a `.bool`: on Apple's systems both arrive as `NSNumber`.
    ///
    /// - Parameter depth: how many levels the value is in. Arrays and objects within 64 others are nil.
    init?(_ value: Any, depth: Int) {
        switch value {
        // First: on Linux, a cast of these to something else converts all levels in them, and needs their stack.
        case let value as [Any]:
            guard depth < Self.maximalDepth else { return nil }
            let members = value.compactMap { JSONValue($0, depth: depth + 1) }
            guard members.count == value.count else { return nil }
            self = .array(members)
        case let value as [AnyHashable: Any]:
            guard depth < Self.maximalDepth else { return nil }
            var members: [String: JSONValue] = [:]
            for (name, value) in value {
                if let name = name as? String { members[name] = JSONValue(value, depth: depth + 1) }
            }
            self = .object(members)
        case is NSNull: self = .null
        case let value as String: self = .string(value)
        case let value as NSNumber: self.init(value)
        case let value as Bool: self = .bool(value)
        case let value as Int: self = .int(Int64(value))
        case let value as Int64: self = .int(value)
        case let value as Double where value.isFinite: self = .double(value)
        default: return nil
        }
    }

    private init?(_ number: NSNumber) {
        #if canImport(Darwin)
            let isBool = CFGetTypeID(number) == CFBooleanGetTypeID()
        #else
            let isBool = String(cString: number.objCType) == "c"
        #endif
        if isBool {
            self = .bool(number.boolValue)
        } else if let whole = Int64(exactly: number) {
            self = .int(whole)
        } else {
            guard number.doubleValue.isFinite else { return nil }
            self = .double(number.doubleValue)
        }
    }
}
