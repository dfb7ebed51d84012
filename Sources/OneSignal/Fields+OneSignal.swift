import Edge
import Turnstone

extension Fields {
    /// Reads a text in several languages: the English one, or else the first.
    ///
    /// A message has one text here, so a user's language does not count.
    mutating func languages(_ name: String) throws(Failure) -> String? {
        guard let value = take(name) else { return nil }
        if let text = value.string { return text.isEmpty ? nil : text }
        guard let texts = value.object else {
            throw .malformed("\(path(of: name)) must be an object with a text for each language")
        }
        for text in texts.members where text.value != .null && text.value.string == nil {
            throw .malformed("\(path(of: name)).\(text.name) must be a string")
        }
        let english = texts["en"]?.string
        let found = english ?? texts.members.lazy.compactMap { $0.value.string }.first
        return found.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a whole number that may come as a text.
    mutating func wholeNumber(_ name: String) throws(Failure) -> Int64? {
        if let text = rest[name]?.string {
            _ = take(name)
            guard let number = Int64(text) else {
                throw .malformed("\(path(of: name)) must be a whole number")
            }
            return number
        }
        return try integer(name)
    }

    /// Refuses members that have not been read.
    ///
    /// - Parameters:
    ///   - ignored: names that mean nothing here.
    ///   - advice: what to do instead of a member.
    func finish(
        ignoring ignored: [String], advice: (String) -> String? = { _ in nil }
    ) throws(Failure) {
        for member in rest.members where member.value != .null && !ignored.contains(member.name) {
            throw unsupported(path(of: member.name), advice(member.name) ?? "")
        }
    }
}
