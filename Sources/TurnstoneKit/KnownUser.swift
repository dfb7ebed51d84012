import Foundation

/// An installation's knowledge about a user of an app.
public struct KnownUser: Decodable, Hashable, Sendable, Identifiable {
    public struct Device: Decodable, Hashable, Sendable, Identifiable {
        public let id: String
        /// `ios`, `android` or `web`.
        public let platform: String
        public let deviceName: String?
        public let createdAt: Date
        public let updatedAt: Date
        /// `device`, `live_activity` or `live_activity_start`.
        public let tokenType: String
        public let environment: APNsEnvironment?
        public let appVersion: String?
        /// Nothing has been pushed to it since then.
        public let quarantinedAt: Date?
    }

    public let id: String
    public let devices: [Device]
    public let preferences: NotificationPreferences
    /// Aliases, tags, language and so on, as the reference describes `GET /api/users/{id}`.
    public let profile: [String: JSONValue]
    /// The number on the app's icon.
    public let badge: Int
    /// How many API keys there are.
    public let apiKeys: Int
}

/// How much an erasure removed.
public struct Erasure: Decodable, Hashable, Sendable {
    public let devices: Int
    public let apiKeys: Int
    public let pushes: Int
    public let receipts: Int
    public let files: Int
}
