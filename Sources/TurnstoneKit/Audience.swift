import Foundation

/// The users and devices that a message is for. An audience is several of these together, as the
/// installation's reference describes for `POST /api/notify`.
public struct Audience: Hashable, Sendable {
    public var users: [String]
    /// Tokens of devices.
    public var devices: [String]
    /// Ids of other systems, by label.
    public var aliases: [String: [String]]
    /// Names or ids of segments.
    public var segments: [String]
    public var excludedSegments: [String]
    /// Conditions and operators, such as
    /// `{"field": "tag", "key": "role", "relation": "=", "value": "admin"}`.
    public var filters: [JSONValue]
    public var isEveryone: Bool

    public init(
        users: [String] = [], devices: [String] = [], aliases: [String: [String]] = [:],
        segments: [String] = [], excludedSegments: [String] = [], filters: [JSONValue] = []
    ) {
        self.users = users
        self.devices = devices
        self.aliases = aliases
        self.segments = segments
        self.excludedSegments = excludedSegments
        self.filters = filters
        isEveryone = false
    }

    /// Every user who has a device.
    public static var everyone: Audience {
        var audience = Audience()
        audience.isEveryone = true
        return audience
    }

    var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["users"] = Self.list(users)
        members["devices"] = Self.list(devices)
        members["segments"] = Self.list(segments)
        members["exclude_segments"] = Self.list(excludedSegments)
        if !aliases.isEmpty {
            members["aliases"] = .object(aliases.mapValues { .array($0.map { .string($0) }) })
        }
        if !filters.isEmpty { members["filters"] = .array(filters) }
        if isEveryone { members["everyone"] = .bool(true) }
        return members
    }

    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map { .string($0) })
    }
}

/// How many a message would reach.
public struct AudienceCount: Decodable, Hashable, Sendable {
    /// The users with a device that takes messages. A phone of several users counts for each of them.
    public let users: Int
    public let devices: Int
    /// The devices that cannot be reached yet.
    public let skipped: Int
}

/// A named audience: the users and devices that meet some filters when a message is sent.
public struct Segment: Decodable, Hashable, Sendable, Identifiable {
    public let id: String
    public let name: String
    public let filters: [JSONValue]
    public let createdAt: Date
    public let updatedAt: Date
}
