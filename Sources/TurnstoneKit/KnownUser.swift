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
        /// Such as `iPhone15,2`.
        public let model: String?
        /// Such as `iOS 19.1`.
        public let os: String?
        /// Whether it gets pushes: `false` in the profile's `devices` stops all.
        public var isEnabled: Bool { enabled ?? true }
        /// It is sent only if it is `false`.
        private let enabled: Bool?
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
    /// How many API keys work.
    public let apiKeys: Int
    /// The profile's ETag. Pass the user to ``ServerClient/change(_:_:since:)`` to fail if the profile has changed. Nil:
    /// the answer did not have it.
    public internal(set) var tag: String?

    private enum CodingKeys: String, CodingKey {
        case id, devices, preferences, profile, badge, apiKeys
    }
}

/// How much an erasure removed.
public struct Erasure: Decodable, Hashable, Sendable {
    public let devices: Int
    public let apiKeys: Int
    public let pushes: Int
    public let receipts: Int
    public let files: Int
    /// Files and folders that could not be read, so that they may still name the user. The log and ``Health`` list
    /// them: repair or remove them, and erase the user again.
    public let unreadable: Int

    private enum CodingKeys: String, CodingKey {
        case devices, apiKeys, pushes, receipts, files, unreadable
    }

    /// Nothing was left.
    init() {
        (devices, apiKeys, pushes, receipts, files, unreadable) = (0, 0, 0, 0, 0, 0)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        devices = try container.decode(Int.self, forKey: .devices)
        apiKeys = try container.decode(Int.self, forKey: .apiKeys)
        pushes = try container.decode(Int.self, forKey: .pushes)
        receipts = try container.decode(Int.self, forKey: .receipts)
        files = try container.decode(Int.self, forKey: .files)
        unreadable = try container.decodeIfPresent(Int.self, forKey: .unreadable) ?? 0
    }
}
