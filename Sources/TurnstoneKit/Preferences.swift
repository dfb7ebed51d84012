import Foundation

/// Which notifications a user wants, and when.
public struct NotificationPreferences: Codable, Hashable, Sendable {
    /// Local times of each day between which the user wants no messages; they may cross midnight.
    public struct QuietHours: Codable, Hashable, Sendable {
        /// `22:00`
        public var from: String
        public var to: String
        /// A name of the IANA database, such as `Europe/Berlin`.
        public var timeZone: String

        public init(from: String, to: String, timeZone: String = TimeZone.current.identifier) {
            self.from = from
            self.to = to
            self.timeZone = timeZone
        }
    }

    /// For each kind of message, whether the user wants it. Kinds that are not listed are wanted; `turn` is
    /// the notice that it is the player's turn.
    public var kinds: [String: Bool]
    /// The user wants no messages before this moment.
    public var mutedUntil: Date?
    public var quietHours: QuietHours?
    /// The state of the preferences that were read. Setting them fails with ``TurnstoneError/changed(_:)`` if
    /// they have changed since. Nil replaces whatever is there.
    public internal(set) var tag: String?

    private enum CodingKeys: String, CodingKey { case kinds, mutedUntil, quietHours }

    public init(kinds: [String: Bool] = [:], mutedUntil: Date? = nil, quietHours: QuietHours? = nil)
    {
        self.kinds = kinds
        self.mutedUntil = mutedUntil
        self.quietHours = quietHours
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kinds = try container.decodeIfPresent([String: Bool].self, forKey: .kinds) ?? [:]
        mutedUntil = try container.decodeIfPresent(Date.self, forKey: .mutedUntil)
        quietHours = try container.decodeIfPresent(QuietHours.self, forKey: .quietHours)
    }
}

extension Connection {
    private struct Answer: Decodable { let preferences: NotificationPreferences }

    func preferences() async throws(TurnstoneError) -> NotificationPreferences {
        try Self.preferences(in: try await send("GET", "api/preferences"))
    }

    func set(_ preferences: NotificationPreferences) async throws(TurnstoneError)
        -> NotificationPreferences
    {
        let headers = preferences.tag.map { ["If-Match": $0] } ?? [:]
        return try Self.preferences(
            in: try await send("PUT", "api/preferences", body: preferences, headers: headers))
    }

    private static func preferences(in answer: HTTPAnswer) throws(TurnstoneError)
        -> NotificationPreferences
    {
        var preferences = try read(answer, as: Answer.self).preferences
        preferences.tag = answer.headers["etag"]
        return preferences
    }
}
