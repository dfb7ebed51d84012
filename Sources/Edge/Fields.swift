import Turnstone

/// The members of a JSON object, such as a request's body, while a program reads them. `null` counts as
/// missing. Each member can be read once.
///
/// **Unknown members.** Programs that send, replace or configure something for others call ``finish()`` after
/// the last member, which refuses unknown members by name: a misspelt one would otherwise be ignored silently
/// (`notify`, `events` and its templates, `preferences`, `profile`, `users`,
/// `segments`, the test of `notifications`; those with OneSignal's routes in their own words). All other
/// programs ignore unknown members, so that a newer app can talk to an older server.
package struct Fields {
    /// The members that have not been read.
    package private(set) var rest: JSONObject

    /// The path of the object, such as `quietHours.`; empty for the body itself.
    private let path: String

    /// - Parameter outer: the member that holds the object; `nil` for the body itself.
    package init(_ members: JSONObject, of outer: String? = nil) {
        rest = members
        path = outer.map { "\($0)." } ?? ""
    }

    /// A member's name in a message, such as `quietHours.from`.
    package func path(of name: String) -> String { path + name }

    /// Reads a value of any type.
    package mutating func take(_ name: String) -> JSONValue? {
        defer { rest[name] = nil }
        return rest[name].flatMap { $0 == .null ? nil : $0 }
    }

    /// Reads a string, which may be empty.
    package mutating func text(_ name: String) throws(Failure) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw wrong(path(of: name), " must be a string") }
        return text
    }

    /// Reads a string. An empty one counts as missing.
    package mutating func optionalText(_ name: String) throws(Failure) -> String? {
        guard let text = try text(name), !text.isEmpty else { return nil }
        return text
    }

    /// Reads a string of at most `count` bytes. An empty one counts as missing.
    package mutating func optionalText(
        _ name: String, atMost count: Int
    ) throws(Failure) -> String? {
        guard let text = try optionalText(name) else { return nil }
        guard text.utf8.count <= count else {
            throw wrong(path(of: name), " must be at most \(count) bytes")
        }
        return text
    }

    /// Reads a string that must be there and not empty.
    package mutating func requiredText(_ name: String) throws(Failure) -> String {
        guard let text = try optionalText(name) else { throw wrong(path(of: name), " is required") }
        return text
    }

    package mutating func boolean(_ name: String) throws(Failure) -> Bool? {
        guard let value = take(name) else { return nil }
        guard let boolean = value.bool else {
            throw wrong(path(of: name), " must be true or false")
        }
        return boolean
    }

    package mutating func integer(_ name: String) throws(Failure) -> Int64? {
        guard let value = take(name) else { return nil }
        guard let integer = value.integer else {
            throw wrong(path(of: name), " must be a whole number")
        }
        return integer
    }

    /// Reads a moment in seconds since 1970, with or without a fraction, up to the end of the year 9999.
    package mutating func moment(_ name: String) throws(Failure) -> Timestamp? {
        switch take(name) {
        case nil: return nil
        case .integer(let seconds) where (0...Timestamp.latest.seconds).contains(seconds):
            return Timestamp(seconds: seconds)
        case .number(let seconds)
        where seconds.value >= 0 && seconds.value < Double(Timestamp.latest.seconds + 1):
            return Timestamp(milliseconds: Int64(seconds.value * 1000))
        default: throw wrong(path(of: name), " must be seconds since 1970")
        }
    }

    package mutating func object(_ name: String) throws(Failure) -> JSONObject? {
        guard let value = take(name) else { return nil }
        guard let object = value.object else { throw wrong(path(of: name), " must be an object") }
        return object
    }

    package mutating func requiredObject(_ name: String) throws(Failure) -> JSONObject {
        guard let object = try object(name) else { throw wrong(path(of: name), " is required") }
        return object
    }

    /// Reads an array of strings.
    @export(interface)
    package mutating func texts(_ name: String) throws(Failure) -> [String]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.array else { throw wrong(path(of: name), " must be an array") }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard let text = element.string else {
                throw wrong(path(of: name), " must be an array of strings")
            }
            texts.append(text)
        }
        return texts
    }

    /// Refuses members that have not been read.
    package func finish() throws(Failure) {
        if let unknown = rest.members.first {
            throw wrong("unknown member ", path(of: unknown.name))
        }
    }
}

/// Makes a refusal with a sentence of two parts. Not inlined, to keep programs small: each links all
/// accessors.
@inline(never)
func wrong(_ start: String, _ end: String) -> Failure { .malformed(start + end) }
