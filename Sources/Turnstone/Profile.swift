/// A user's properties, by which a backend chooses the recipients of a message.
package struct Profile: Equatable, Sendable {
    /// With at most one for each label.
    package var aliases: [Alias] = []
    /// By name. Each value is a string or a number, which is kept as it was given.
    package var tags = JSONObject()
    package var language: LanguageTag?
    /// The time zone's name in the IANA database.
    package var timeZone: String?
    package var country: CountryCode?
    /// When the user first used the app.
    package var firstSession: Timestamp?
    /// When the user last used the app.
    package var lastSession: Timestamp?
    /// How often the user has used the app, at most ``mostSessions``.
    package var sessionCount: Int64 = 0
    /// Counts the changes: ``Timestamp/revision(after:)``.
    package var revision: Int64 = 0
    /// Members of the document that this program does not know.
    package var unknown = JSONObject()

    package init() {}

    package static let mostTags = 100
    package static let mostSessions: Int64 = 1_000_000_000
    /// The longest name of a tag, in bytes.
    package static let longestTagName = 128
    /// The longest value of a tag, in bytes: of a string, or of a number's digits.
    package static let longestTagValue = 255

    /// The id that the user has under a label.
    package func alias(_ label: String) -> Alias? {
        aliases.first { $0.label.utf8.elementsEqual(label.utf8) }
    }

    /// Gives the user an alias, in the place of another one with the same label.
    package mutating func set(_ alias: Alias) {
        let place = aliases.firstIndex { $0.label.utf8.elementsEqual(alias.label.utf8) }
        if let place { aliases[place] = alias } else { aliases.append(alias) }
    }

    package mutating func removeAlias(_ label: String) {
        aliases.removeAll { $0.label.utf8.elementsEqual(label.utf8) }
    }

    /// Counts sessions, the last of which begins now.
    package mutating func addSessions(_ count: Int64 = 1, at now: Timestamp) {
        guard count > 0 else { return }
        firstSession = firstSession ?? now
        lastSession = max(lastSession ?? now, now)
        sessionCount = min(sessionCount.saturatingAdd(count), Self.mostSessions)
    }
}

extension Profile {
    /// The profile as an app may show it, with the members of `/api/profile`.
    package var listing: JSONValue {
        var named = JSONObject()
        for alias in aliases { named.append(alias.label, .string(alias.id)) }
        return [
            "aliases": .object(named), "tags": .object(tags),
            "language": language.map { .string($0.text) } ?? .null,
            "timeZone": timeZone.map { .string($0) } ?? .null,
            "country": country.map { .string($0.text) } ?? .null,
            "firstSession": firstSession.map { .string(CalendarDate($0).millisecondText) } ?? .null,
            "lastSession": lastSession.map { .string(CalendarDate($0).millisecondText) } ?? .null,
            "sessionCount": .integer(sessionCount),
        ]
    }
}
