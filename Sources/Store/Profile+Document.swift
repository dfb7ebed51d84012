import Documents
import Turnstone

extension Profile {
    /// Reads the member `profile` of a user's document; `nil` if it has another form.
    init?(_ json: JSONValue) {
        guard let object = json.object else { return nil }
        self.init()
        var members = Members(object)
        for member in members.take("aliases")?.object?.members ?? [] {
            guard let id = member.value.string, let alias = Alias(member.name, id) else {
                return nil
            }
            aliases.append(alias)
        }
        tags = members.take("tags")?.object ?? [:]
        language = members.take("language")?.string.flatMap { LanguageTag($0) }
        timeZone = members.take("time_zone")?.string
        country = members.take("country")?.string.flatMap { CountryCode($0) }
        firstSession = members.take("first_session")?.timestamp
        lastSession = members.take("last_session")?.timestamp
        // An earlier version counted on.
        sessionCount = min(members.take("sessions")?.count ?? 0, Self.mostSessions)
        revision = members.take("revision")?.integer.map { max(0, $0) } ?? 0
        unknown = members.rest
    }

    var json: JSONValue {
        var named = JSONObject()
        for alias in aliases { named.append(alias.label, .string(alias.id)) }
        var members = JSONObject()
        members["aliases"] = aliases.isEmpty ? nil : .object(named)
        members["tags"] = tags.members.isEmpty ? nil : .object(tags)
        members["language"] = language.map { .string($0.text) }
        members["time_zone"] = timeZone.map { .string($0) }
        members["country"] = country.map { .string($0.text) }
        members["first_session"] = firstSession.map { JSONValue($0) }
        members["last_session"] = lastSession.map { JSONValue($0) }
        members["sessions"] = sessionCount == 0 ? nil : .integer(sessionCount)
        members["revision"] = .integer(revision)
        return .object(members.adding(unknown))
    }
}
