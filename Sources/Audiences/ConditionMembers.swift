import Turnstone

/// The members of one element of a filter, while it is read.
struct ConditionMembers {
    private var rest: JSONObject
    /// The element's name in sentences, such as `filters[2]`.
    private let name: String

    init(_ json: JSONValue, _ name: String) throws(Failure) {
        guard let members = json.object else { throw .malformed("\(name) must be an object") }
        rest = members
        self.name = name
    }

    /// Refuses members that have not been read. One of ours that is `null` counts as missing.
    func finish() throws(Failure) {
        let names = ["operator", "field", "key", "relation", "value"]
        let member = rest.members.first { $0.value != .null || !names.contains($0.name) }
        if let member {
            throw .malformed("unknown member \(name).\(member.name)")
        }
    }

    private mutating func take(_ member: String) -> JSONValue? {
        defer { rest[member] = nil }
        return rest[member].flatMap { $0 == .null ? nil : $0 }
    }

    private mutating func text(_ member: String) throws(Failure) -> String? {
        guard let value = take(member) else { return nil }
        guard let text = value.string else {
            throw .malformed("\(name).\(member) must be a string")
        }
        return text
    }

    /// Reads `operator`: whether it is `OR`; `nil` if the element is a condition.
    mutating func `operator`() throws(Failure) -> Bool? {
        guard let word = try text("operator") else { return nil }
        guard word == "OR" || word == "AND" else {
            throw .malformed("\(name).operator must be AND or OR")
        }
        return word == "OR"
    }

    mutating func condition() throws(Failure) -> Condition {
        guard let field = try text("field") else {
            throw .malformed("\(name) must have a field or an operator")
        }
        guard let relation = try text("relation") else {
            throw .malformed("\(name).relation is required")
        }
        switch field {
        case "tag":
            guard let key = try text("key"),
                (1...Profile.longestTagName).contains(key.utf8.count)
            else {
                throw .malformed(
                    "\(name).key must be a tag's name of 1 to \(Profile.longestTagName) bytes")
            }
            return .tag(key, try comparison(field, relation) { TagValue($0) })
        case "language":
            return .language(
                try comparison(field, relation, isOrdered: false) {
                    $0.string.flatMap { LanguageTag($0) }
                })
        case "country":
            return .country(
                try comparison(field, relation, isOrdered: false) {
                    $0.string.flatMap { CountryCode($0) }
                })
        case "platform":
            return .platform(
                try comparison(field, relation, isOrdered: false) {
                    $0.string.flatMap { Platform(rawValue: $0) }
                })
        case "app_version":
            return .appVersion(
                try comparison(field, relation) {
                    $0.string.flatMap { Alias.isPart($0) ? AppVersion($0) : nil }
                })
        case "first_session", "last_session":
            guard relation != "=", relation != "!=", relation != "in" else {
                throw unfit(relation, field)
            }
            return .session(
                isFirst: field == "first_session", try comparison(field, relation) { hours($0) })
        case "session_count":
            return .sessionCount(try comparison(field, relation) { $0.integer })
        case "location":
            throw .unacceptable("\(name).field: locations are not known here")
        default:
            throw .unacceptable(
                """
                \(name).field must be tag, language, country, platform, app_version, first_session, \
                last_session or session_count
                """)
        }
    }

    /// - Parameters:
    ///   - isOrdered: whether one value may be less than another.
    ///   - read: makes a value of its JSON; `nil` if the field has no such values.
    private mutating func comparison<Value: Comparand>(
        _ field: String, _ relation: String, isOrdered: Bool = true, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Comparison<Value> {
        switch relation {
        case "exists": return .exists
        case "not_exists": return .isMissing
        case "=": return .equals(try value(field, read))
        case "!=": return .differs(try value(field, read))
        case ">" where isOrdered: return .exceeds(try value(field, read))
        case "<" where isOrdered: return .isBelow(try value(field, read))
        case "in": return .isOneOf(try values(field, read))
        case ">", "<": throw unfit(relation, field)
        default:
            throw .unacceptable("\(name).relation must be =, !=, >, <, in, exists or not_exists")
        }
    }

    private func unfit(_ relation: String, _ field: String) -> Failure {
        .unacceptable("\(name).relation: \(relation) is not possible with \(field)")
    }

    private mutating func value<Value>(
        _ field: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Value {
        guard let json = take("value") else { throw .malformed("\(name).value is required") }
        return try checked(json, field, read)
    }

    private mutating func values<Value>(
        _ field: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> [Value] {
        guard let list = take("value")?.array, !list.isEmpty else {
            throw .malformed("\(name).value must be an array of at least one value")
        }
        guard list.count <= Filter.mostValues else {
            throw .unacceptable("\(name).value must have at most \(Filter.mostValues) values")
        }
        var values: [Value] = []
        for json in list { values.append(try checked(json, field, read)) }
        return values
    }

    private func checked<Value>(
        _ json: JSONValue, _ field: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Value {
        let isText = json.string.map { $0.utf8.count <= Profile.longestTagValue } ?? true
        guard isText, let value = read(json) else {
            throw .unacceptable("\(name).value must be \(form(of: field))")
        }
        return value
    }

    private func form(of field: String) -> String {
        switch field {
        case "tag": "a string of at most \(Profile.longestTagValue) bytes or a number"
        case "language": "a language such as de, pt-BR or zh-Hant"
        case "country": "the two letters of a country, such as DE"
        case "platform": "a platform such as ios"
        case "app_version": "a version such as \"3.10\", of 1 to 128 bytes"
        case "session_count": "a whole number"
        default: "how many hours ago, 0 to 1000000"
        }
    }
}

private func hours(_ json: JSONValue) -> Interval? {
    switch json {
    case .integer(let hours) where (0...1_000_000).contains(hours):
        return .milliseconds(hours * 3_600_000)
    case .number(let hours) where hours.value >= 0 && hours.value <= 1_000_000:
        return .milliseconds(Int64(hours.value * 3_600_000))
    default: return nil
    }
}
