import Edge
import Turnstone

extension Fields {
    /// Reads a text in several languages, as `POST /api/notify` accepts it. Empty texts count as missing.
    mutating func languages(_ name: String) throws(Failure) -> JSONValue? {
        guard let value = take(name) else { return nil }
        if let text = value.string { return text.isEmpty ? nil : value }
        guard let members = value.object?.members else {
            throw .malformed("\(path(of: name)) must be an object with a text for each language")
        }
        var texts = JSONObject()
        for member in members where member.value != .null {
            guard let text = member.value.string else {
                throw .malformed("\(path(of: name)).\(member.name) must be a string")
            }
            if !text.isEmpty { texts.append(member.name, member.value) }
        }
        return texts.members.isEmpty ? nil : .object(texts)
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
