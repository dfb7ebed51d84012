import JSON
import Turnstone

/// OneSignal's filters in our form, and back.
///
/// Theirs have texts as values, and `hours_ago` for sessions.
enum Filters {
    /// - Parameter name: the member that has the list, for sentences.
    static func translated(
        _ json: JSONValue, named name: String = "filters"
    ) throws(Failure) -> JSONValue {
        guard let list = json.array else { throw .malformed("\(name) must be an array") }
        var elements: [JSONValue] = []
        for (place, element) in list.enumerated() {
            guard let members = element.object else {
                throw .malformed("\(name)[\(place)] must be an object")
            }
            elements.append(.object(try translated(members, "\(name)[\(place)]")))
        }
        return .array(elements)
    }

    /// The conditions of the older member `tags`, all of which must hold.
    static func translated(tags json: JSONValue) throws(Failure) -> JSONValue {
        guard let list = json.array else { throw .malformed("tags must be an array") }
        var elements: [JSONValue] = []
        for element in list {
            guard var members = element.object else {
                throw .malformed("tags must be an array of objects")
            }
            if members["operator"] == nil { members["field"] = "tag" }
            elements.append(.object(members))
        }
        return try translated(.array(elements), named: "tags")
    }

    private static func translated(
        _ members: JSONObject, _ name: String
    ) throws(Failure) -> JSONObject {
        if let word = members["operator"], word != .null {
            guard members["field"] == nil || members["field"] == .null else {
                throw .malformed("\(name) must have a field or an operator, not both")
            }
            return ["operator": word]
        }
        guard let field = members["field"]?.string else {
            throw .malformed("\(name).field is required")
        }
        if let reason = unknownHere(field) { throw unsupported("\(name).field \(field)", reason) }
        let known = ["field", "key", "relation", "value", "hours_ago", "operator"]
        if let other = members.members.first(where: {
            $0.value != .null && !known.contains($0.name)
        }) {
            throw unsupported("\(name).\(other.name)")
        }
        var made: JSONObject = ["field": .string(field)]
        made["key"] = members["key"].flatMap { $0 == .null ? nil : $0 }
        let relation = try relation(members["relation"], of: name)
        let hours = members["hours_ago"].flatMap { $0 == .null ? nil : $0 }
        guard hours == nil || field == "first_session" || field == "last_session" else {
            throw .malformed("\(name).hours_ago is for first_session and last_session")
        }
        let value = hours ?? members["value"]
        if field == "first_session" || field == "last_session", relation == ">" || relation == "<" {
            let member = hours == nil && value != nil && value != .null ? "value" : "hours_ago"
            guard let value, isHours(number(value)) else {
                throw .malformed("\(name).\(member) must be a number of hours from 0 to 1000000")
            }
        }
        switch relation {
        case "in_array", "in":
            made["relation"] = "in"
            made["value"] = value.map { list($0) }
        case "not_in_array", "time_elapsed_gt", "time_elapsed_lt":
            throw unsupported("\(name).relation \(relation)")
        default:
            made["relation"] = .string(relation)
            let isNumber = ["first_session", "last_session", "session_count"].contains(field)
            if relation != "exists", relation != "not_exists" {
                made["value"] = value.map { isNumber ? number($0) : $0 }
            }
        }
        return made
    }

    private static func relation(
        _ json: JSONValue?, of name: String
    ) throws(Failure) -> String {
        guard let json, json != .null else { return "=" }
        guard let relation = json.string else {
            throw .malformed("\(name).relation must be a text, such as \"=\"")
        }
        return relation
    }

    /// The elements of an array, or of a text with commas.
    private static func list(_ json: JSONValue) -> JSONValue {
        guard let text = json.string else { return json }
        return JSONValue(
            texts: text.utf8.split(separator: UInt8(ascii: ",")).map {
                String(decoding: Array($0), as: UTF8.self)
            })
    }

    /// The number that a text holds; other values as they are.
    private static func number(_ json: JSONValue) -> JSONValue {
        guard let text = json.string else { return json }
        do throws(JSONError) {
            switch try JSON.parse(Array(text.utf8)) {
            case .integer(let number): return .integer(number)
            case .number(let number): return .number(number)
            default: return json
            }
        } catch { return json }
    }

    private static func isHours(_ json: JSONValue) -> Bool {
        switch json {
        case .integer(let hours): (0...1_000_000).contains(hours)
        case .number(let hours): (0...1_000_000).contains(hours.value)
        default: false
        }
    }

    /// A segment's filter as OneSignal shows it.
    static func shown(_ json: JSONValue) -> JSONValue {
        .array(
            (json.array ?? []).map { element in
                guard var members = element.object, let field = members["field"]?.string else {
                    return element
                }
                if let list = members["value"]?.array {
                    members["value"] = .string(list.map { text($0) }.joined(separator: ","))
                    members["relation"] = "in_array"
                } else if let value = members["value"] {
                    let isTime = field == "first_session" || field == "last_session"
                    members["value"] = nil
                    members[isTime ? "hours_ago" : "value"] = .string(text(value))
                }
                return .object(members)
            })
    }

    private static func text(_ value: JSONValue) -> String {
        value.string ?? String(decoding: JSON.text(value), as: UTF8.self)
    }
}
