import Edge
import Profiles
import Turnstone

/// The member `properties` of a request, as members of `PATCH /api/users/{id}`.
struct PropertiesBody {
    private(set) var members = JSONObject()

    init(_ fields: inout Fields) throws(Failure) {
        guard let properties = try fields.object("properties") else { return }
        var inner = Fields(properties, of: "properties")
        if let tags = try inner.object("tags") { members["tags"] = .object(Self.tags(tags)) }
        members["language"] = try inner.optionalText("language").map { .string($0) }
        members["timeZone"] = try inner.optionalText("timezone_id").map { .string($0) }
        members["country"] = try inner.optionalText("country").map { .string($0) }
        for (name, ours) in [("first_active", "firstSession"), ("last_active", "lastSession")] {
            guard let moment = try inner.moment(name) else { continue }
            members[ours] = .string(CalendarDate(moment).text)
        }
        try inner.finish(ignoring: []) { unknownHere($0) }
    }

    /// The change of a profile that a request with `properties` or `identity` asks for.
    ///
    /// - Throws: what is wrong, with OneSignal's names.
    static func change(
        _ members: JSONObject, addingSessions sessions: Int64 = 0
    ) throws(Failure) -> ProfileChange {
        do throws(Failure) {
            return try ProfileChange(
                Fields(members), givingReservedAliases: true, addingSessions: sessions)
        } catch {
            throw error.renamed([
                ("tags", "properties.tags"), ("language", "properties.language"),
                ("timeZone", "properties.timezone_id"), ("country", "properties.country"),
                ("aliases", "identity"),
            ])
        }
    }

    /// An empty text removes a tag. A truth value is stored as a text, as OneSignal does.
    static func tags(_ tags: JSONObject) -> JSONObject {
        var made = JSONObject()
        for tag in tags.members {
            switch tag.value {
            case .string(let text) where text.isEmpty: made.append(tag.name, .null)
            case .bool(let flag): made.append(tag.name, .string(flag ? "true" : "false"))
            default: made.append(tag.name, tag.value)
            }
        }
        return made
    }
}
