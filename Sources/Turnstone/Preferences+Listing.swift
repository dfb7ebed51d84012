extension Preferences {
    /// The preferences as an app may show them, with the members of `/api/preferences`.
    package var listing: JSONValue {
        [
            "kinds": .object(kinds),
            "mutedUntil": mutedUntil.map { .string(CalendarDate($0).text) } ?? .null,
            "quietHours": quietHours.map { $0.json } ?? .null,
        ]
    }
}
