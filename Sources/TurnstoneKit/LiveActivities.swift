import Foundation

/// The Live Activities that a push is for.
public struct ActivityTarget: Hashable, Sendable {
    /// The app's id of one activity.
    public var activity: String?
    /// All that show the same thing.
    public var session: String?
    public var user: String?
    /// A broadcast channel, and all that listen to it; instead of the others.
    public var channel: String?

    /// An activity must match all that is given, which is at least one.
    public init(
        activity: String? = nil, session: String? = nil, user: String? = nil, channel: String? = nil
    ) {
        self.activity = activity
        self.session = session
        self.user = user
        self.channel = channel
    }

    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["activityId"] = activity.map { .string($0) }
        members["sessionId"] = session.map { .string($0) }
        members["userId"] = user.map { .string($0) }
        members["channel"] = channel.map { .string($0) }
        return members
    }
}

/// A broadcast channel of APNs.
public struct Channel: Decodable, Hashable, Sendable, Identifiable {
    public let id: String
    /// Whether APNs keeps the newest update for devices that come later: `newest` or `none`.
    public let messageStoragePolicy: String
    public let environment: APNsEnvironment
}

extension ServerClient {
    private struct Taken: Decodable { let state: String }

    /// Pushes a new state to Live Activities.
    ///
    /// After a 503, some of them may have got it. So it is repeated only with `timestamp`, and not with `alert`, which
    /// they would show again.
    ///
    /// - Parameters:
    ///   - state: encoded as the app's `ContentState`.
    ///   - others: further members of the request, such as `staleDate`, `priority` or `alert`.
    /// - Returns: `queued`; `held`: it is sent 15 s after the last update, unless a newer one replaces it;
    ///   `outdated`: a later state is known, and this one is not sent.
    @discardableResult
    public func updateActivity(
        _ target: ActivityTarget, state: [String: JSONValue], others: [String: JSONValue] = [:]
    ) async throws(TurnstoneError) -> String {
        try await push("update", target, state, others)
    }

    /// Ends Live Activities.
    ///
    /// - Parameters:
    ///   - state: the last one. Nil: the newest.
    ///   - leaving: when they leave the lock screen; by default 15 minutes from now.
    ///   - others: as for an update.
    @discardableResult
    public func endActivity(
        _ target: ActivityTarget, state: [String: JSONValue]? = nil, leaving: Date? = nil,
        others: [String: JSONValue] = [:]
    ) async throws(TurnstoneError) -> String {
        var others = others
        if let leaving { others["dismissalDate"] = .double(leaving.timeIntervalSince1970) }
        return try await push("end", target, state, others)
    }

    /// Starts a Live Activity on a user's devices.
    ///
    /// - Parameters:
    ///   - type: the name of the activity's type.
    ///   - attributes: the activity's fixed values.
    ///   - title: of the alert that comes with it, as `body` is.
    ///   - others: further members of the request, such as `channel`, `inputPushToken` or `sound`; not `alert`.
    @discardableResult
    public func startActivity(
        for user: String, type: String, attributes: [String: JSONValue],
        state: [String: JSONValue], title: String, body: String, others: [String: JSONValue] = [:]
    ) async throws(TurnstoneError) -> String {
        let own: [String: JSONValue] = [
            "attributesType": .string(type), "attributes": .object(attributes),
            "alert": ["title": .string(title), "body": .string(body)],
        ]
        return try await push(
            "start", ActivityTarget(user: user), state, others.merging(own) { $1 })
    }

    private func push(
        _ event: String, _ target: ActivityTarget, _ state: [String: JSONValue]?,
        _ others: [String: JSONValue]
    ) async throws(TurnstoneError) -> String {
        var body = others.merging(target.members) { $1 }
        body["event"] = .string(event)
        if let state { body["contentState"] = .object(state) }
        let once = event == "update" && (body["timestamp"] == nil || body["alert"] != nil)
        return try await connection.value(
            "POST", "api/push/live-activity", as: Taken.self, body: body, once: once
        ).state
    }

    /// Makes a broadcast channel.
    ///
    /// It is not repeated after a 503: APNs may have made a channel whose answer was lost. After a
    /// ``TurnstoneError/later(after:_:)`` or ``TurnstoneError/unreachable(_:)``, look whether ``channels(in:)`` has one
    /// more.
    ///
    /// - Parameters:
    ///   - keepsNewest: whether APNs keeps the newest update for devices that come later.
    ///   - environment: if it differs from the installation's own.
    public func makeChannel(
        keepsNewest: Bool, in environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> Channel {
        var body: [String: JSONValue] = [
            "messageStoragePolicy": .string(keepsNewest ? "newest" : "none")
        ]
        body["environment"] = environment.map { .string($0.rawValue) }
        return try await connection.value("POST", "api/push/channels", body: body, once: true)
    }

    private struct Channels: Decodable { let channels: [String] }

    /// The ids of an environment's channels.
    public func channels(
        in environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> [String] {
        let path = "api/push/channels" + Self.query(environment)
        return try await connection.value("GET", path, as: Channels.self).channels
    }

    public func channel(
        _ id: String, in environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> Channel {
        try await connection.value("GET", try Self.path(of: id, environment))
    }

    public func removeChannel(
        _ id: String, in environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) {
        try await connection.remove(try Self.path(of: id, environment))
    }

    /// Base64 has characters that base64url writes in another way, for paths.
    private static func path(
        of channel: String, _ environment: APNsEnvironment?
    ) throws(TurnstoneError) -> String {
        let id = channel.replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
        return "api/push/channels/\(try Connection.encoded(id))\(query(environment))"
    }

    private static func query(_ environment: APNsEnvironment?) -> String {
        environment.map { "?environment=\($0.rawValue)" } ?? ""
    }
}
