import Edge
import Turnstone

/// A request's members while they are read: each is taken once, and one that nobody takes is refused by its name.
package struct Fields {
    private var rest: JSONObject
    /// What the message does to its users' badges.
    var badgeChange: BadgeChange?

    package init(_ members: JSONObject) {
        rest = members
    }

    /// `null` counts as missing.
    package mutating func take(_ name: String) -> JSONValue? {
        defer { rest[name] = nil }
        return rest[name].flatMap { $0 == .null ? nil : $0 }
    }

    mutating func text(_ name: String) throws(Failure) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw .malformed("\(name) must be a text") }
        return text
    }

    package mutating func requiredText(_ name: String) throws(Failure) -> String {
        guard let text = try text(name), !text.isEmpty else {
            throw .malformed("\(name) is required")
        }
        return text
    }

    mutating func flag(_ name: String) throws(Failure) -> Bool {
        guard let value = take(name) else { return false }
        guard let flag = value.bool else { throw .malformed("\(name) must be true or false") }
        return flag
    }

    mutating func integer(_ name: String) throws(Failure) -> Int64? {
        guard let value = take(name) else { return nil }
        guard let number = value.integer else { throw .malformed("\(name) must be a whole number") }
        return number
    }

    package mutating func object(_ name: String) throws(Failure) -> JSONObject? {
        guard let value = take(name) else { return nil }
        guard let object = value.object else { throw .malformed("\(name) must be an object") }
        return object
    }

    mutating func texts(_ name: String) throws(Failure) -> [String]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.array else { throw .malformed("\(name) must be an array") }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard let text = element.string else {
                throw .malformed("\(name) must be an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// A moment in seconds since 1970, with or without a fraction.
    mutating func moment(_ name: String) throws(Failure) -> Timestamp? {
        switch take(name) {
        case nil: return nil
        case .integer(let seconds) where (0...253_402_300_799).contains(seconds):
            return Timestamp(seconds: seconds)
        case .number(let seconds) where seconds.value >= 0 && seconds.value < 253_402_300_800:
            return Timestamp(milliseconds: Int64(seconds.value * 1000))
        default: throw .malformed("\(name) must be seconds since 1970")
        }
    }

    /// Refuses what nobody has taken.
    package func end() throws(Failure) {
        if let odd = rest.members.first { throw .malformed("there is no member \(odd.name)") }
    }
}

/// A refusal of a value that is what it should be, and yet cannot be.
func unacceptable(_ sentence: String) -> Failure { .refused(.notAcceptable, sentence) }
