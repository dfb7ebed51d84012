import JSON
import Turnstone

/// Makes the failure of a malformed command.
func badCommand(_ sentence: String) -> Failure { .malformed(sentence) }

extension JSONObject {
    /// Reads an integer; `nil` if it is missing.
    func number(_ name: String) throws(Failure) -> Int64? {
        guard let value = self[name], value != .null else { return nil }
        guard let number = value.integer else { throw badCommand("\(name) must be an integer") }
        return number
    }

    /// Reads the duration `ms`, in milliseconds, at most an hour.
    func patience() throws(Failure) -> Interval? {
        try number("ms").map { min(.milliseconds(max(0, $0)), .hours(1)) }
    }

    func text(_ name: String) throws(Failure) -> String? {
        guard let value = self[name], value != .null else { return nil }
        guard let text = value.string else { throw badCommand("\(name) must be a string") }
        return text
    }

    /// Reads `retry_after`: a number of seconds, or the text of the field.
    func retryAfter() throws(Failure) -> String? {
        if let seconds = self["retry_after"]?.integer { return String(seconds) }
        return try text("retry_after")
    }

    func flag(_ name: String) throws(Failure) -> Bool {
        guard let value = self[name], value != .null else { return false }
        guard let flag = value.bool else { throw badCommand("\(name) must be true or false") }
        return flag
    }

    func members(_ name: String) throws(Failure) -> JSONObject? {
        guard let value = self[name], value != .null else { return nil }
        guard let object = value.object else { throw badCommand("\(name) must be an object") }
        return object
    }

    func required<Value>(_ name: String, _ value: Value?) throws(Failure) -> Value {
        guard let value else { throw badCommand("\(name) is missing") }
        return value
    }

    /// Returns the members merged with those of `other`, which win. Objects are merged member by member.
    func joined(with other: JSONObject) -> JSONObject {
        var joined = self
        for member in other.members {
            if let inner = joined[member.name]?.object, let more = member.value.object {
                joined[member.name] = .object(inner.joined(with: more))
            } else {
                joined[member.name] = member.value
            }
        }
        return joined
    }
}

extension JSONValue {
    init(_ number: Int) { self = .integer(Int64(number)) }
    init(_ text: String) { self = .string(text) }
}
