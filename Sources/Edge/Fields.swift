import Turnstone

/// The members of a JSON object while a program reads them: those of a request's body, or of an object in it.
///
/// `null` counts as missing. Each member is taken once.
///
/// **Unknown members.** A program that calls ``finish()`` after the last member refuses the others by name: it sends,
/// replaces or configures something for others, where a misspelt member would be lost in silence (`notify`, `events`
/// and its templates, `preferences`). All other programs ignore them, so that a newer app can talk to an older server.
package struct Fields {
    /// The members that nobody has taken.
    package private(set) var rest: JSONObject

    package init(_ members: JSONObject) { rest = members }

    /// The member's value, whatever its type.
    package mutating func take(_ name: String) -> JSONValue? {
        defer { rest[name] = nil }
        return rest[name].flatMap { $0 == .null ? nil : $0 }
    }

    /// A text, which may be empty.
    package mutating func text(_ name: String) throws(Failure) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw wrong(name, " must be a text") }
        return text
    }

    /// A text; an empty one counts as missing.
    package mutating func optionalText(_ name: String) throws(Failure) -> String? {
        guard let text = try text(name), !text.isEmpty else { return nil }
        return text
    }

    /// A text of at most `count` bytes; an empty one counts as missing.
    package mutating func optionalText(
        _ name: String, atMost count: Int
    ) throws(Failure) -> String? {
        guard let text = try optionalText(name) else { return nil }
        guard text.utf8.count <= count else {
            throw wrong(name, " must be at most \(count) bytes")
        }
        return text
    }

    /// A text that is not empty.
    package mutating func requiredText(_ name: String) throws(Failure) -> String {
        guard let text = try optionalText(name) else { throw wrong(name, " is required") }
        return text
    }

    package mutating func boolean(_ name: String) throws(Failure) -> Bool? {
        guard let value = take(name) else { return nil }
        guard let boolean = value.bool else { throw wrong(name, " must be true or false") }
        return boolean
    }

    package mutating func integer(_ name: String) throws(Failure) -> Int64? {
        guard let value = take(name) else { return nil }
        guard let integer = value.integer else {
            throw wrong(name, " must be a whole number")
        }
        return integer
    }

    /// A moment in seconds since 1970, with or without a fraction, up to the end of the year 9999.
    package mutating func moment(_ name: String) throws(Failure) -> Timestamp? {
        switch take(name) {
        case nil: return nil
        case .integer(let seconds) where (0...253_402_300_799).contains(seconds):
            return Timestamp(seconds: seconds)
        case .number(let seconds) where seconds.value >= 0 && seconds.value < 253_402_300_800:
            return Timestamp(milliseconds: Int64(seconds.value * 1000))
        default: throw wrong(name, " must be seconds since 1970")
        }
    }

    package mutating func object(_ name: String) throws(Failure) -> JSONObject? {
        guard let value = take(name) else { return nil }
        guard let object = value.object else { throw wrong(name, " must be an object") }
        return object
    }

    package mutating func requiredObject(_ name: String) throws(Failure) -> JSONObject {
        guard let object = try object(name) else { throw wrong(name, " is required") }
        return object
    }

    /// An array of texts.
    package mutating func texts(_ name: String) throws(Failure) -> [String]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.array else { throw wrong(name, " must be an array") }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard let text = element.string else {
                throw wrong(name, " must be an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// Refuses members that nobody has taken.
    package func finish() throws(Failure) {
        if let unknown = rest.members.first {
            throw wrong("there is no member ", unknown.name)
        }
    }
}

/// A refusal whose sentence has two parts. Its code is there once: each program links all accessors.
@inline(never)
func wrong(_ start: String, _ end: String) -> Failure { .malformed(start + end) }
