/// A change of the number on an app's icon.
package enum BadgeChange: Equatable, Sendable {
    case set(Int64)
    case add(Int64)

    /// The largest number that is stored.
    package static let maximum: Int64 = 999_999

    /// Reads `5`, `"+1"` or `"-1"`.
    package init?(_ json: JSONValue) {
        if let number = json.integer {
            guard (0...Self.maximum).contains(number) else { return nil }
            self = .set(number)
            return
        }
        guard let text = json.string, let sign = text.utf8.first,
            sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            let number = Int64(text), (-Self.maximum...Self.maximum).contains(number)
        else { return nil }
        self = .add(number)
    }

    /// The form that ``init(_:)`` reads.
    package var json: JSONValue {
        switch self {
        case .set(let number): .integer(number)
        case .add(let number): .string(number < 0 ? "\(number)" : "+\(number)")
        }
    }

    package func applied(to badge: Int64) -> Int64 {
        switch self {
        case .set(let number): number
        case .add(let number): min(max(badge.saturatingAdd(number), 0), Self.maximum)
        }
    }
}
