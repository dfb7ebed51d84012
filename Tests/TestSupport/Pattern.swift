import Turnstone

/// Expectations with `…` in them, which stands for any text (or, alone, for any JSON value at all).
package enum Pattern {
    /// Whether all of `text` matches `pattern`.
    package static func matches(_ text: String, _ pattern: String) -> Bool {
        var parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return text == pattern }
        let first = parts.removeFirst()
        let last = parts.removeLast()
        guard text.hasPrefix(first) else { return false }
        var rest = text.dropFirst(first.count)
        for part in parts where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    /// Whether a value matches `pattern`: the same members and elements, in any order of members.
    package static func matches(_ value: JSONValue, _ pattern: JSONValue) -> Bool {
        switch (value, pattern) {
        case (_, .string("…")): return true
        case (.string(let text), .string(let pattern)): return matches(text, pattern)
        case (.array(let values), .array(let patterns)):
            return values.count == patterns.count
                && zip(values, patterns).allSatisfy { matches($0, $1) }
        case (.object(let object), .object(let pattern)):
            return object.members.count == pattern.members.count
                && pattern.members.allSatisfy { member in
                    object[member.name].map { matches($0, member.value) } ?? false
                }
        default: return value == pattern
        }
    }
}
