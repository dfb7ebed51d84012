import Edge
import Turnstone

extension Fields {
    /// Reads a text in several languages, as `POST /api/notify` accepts it. Empty texts count as missing.
    mutating func languages(_ name: String) throws(Failure) -> JSONValue? {
        guard let value = take(name) else { return nil }
        if let text = value.string {
            try refuseLiquid(in: text, of: name)
            return text.isEmpty ? nil : value
        }
        guard let members = value.object?.members else {
            throw .malformed("\(path(of: name)) must be an object with a text for each language")
        }
        var texts = JSONObject()
        for member in members where member.value != .null {
            guard let text = member.value.string else {
                throw .malformed("\(path(of: name)).\(member.name) must be a string")
            }
            try refuseLiquid(in: text, of: name)
            if !text.isEmpty { texts.append(member.name, member.value) }
        }
        return texts.members.isEmpty ? nil : .object(texts)
    }

    /// Reads a text that OneSignal would complete for each user.
    mutating func filledText(_ name: String) throws(Failure) -> String? {
        let text = try optionalText(name)
        if let text { try refuseLiquid(in: text, of: name) }
        return text
    }

    /// Refuses Liquid, in which OneSignal replaces names with the user's tags and more (*Using Liquid syntax*):
    /// sent as it is, it would show its braces to everybody.
    func refuseLiquid(in text: String, of name: String) throws(Failure) {
        let hasLiquid = zip(text.utf8, text.utf8.dropFirst()).contains { first, second in
            first == UInt8(ascii: "{") && (second == first || second == UInt8(ascii: "%"))
        }
        guard hasLiquid else { return }
        throw unsupported(
            "Liquid ({{ … }} and {% … %}) in \(path(of: name))",
            "send each user's text in a notification of its own")
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
