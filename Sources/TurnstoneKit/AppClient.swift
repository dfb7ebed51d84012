import Foundation

/// The routes below `/api` that any app calls for its signed-in user, with a JSON Web Token of its backend's.
///
/// ```swift
/// let client = AppClient(at: URL(string: "https://push.example.org")!) { try await session.token() }
/// try await client.register(.apple(deviceToken), name: "iPhone 15 Pro", appVersion: "3.1")
/// ```
public struct AppClient: Sendable {
    private let connection: Connection

    /// - Parameters:
    ///   - base: the installation's address, with the prefix under which it is mounted.
    ///   - transport: share one between many clients (``DefaultTransport``).
    ///   - token: gives a JSON Web Token that is still good. It is called before each request; what it throws
    ///     is ``TurnstoneError/unreachable(_:)``, unless it is a ``TurnstoneError``.
    public init(
        at base: URL, transport: any Transport = DefaultTransport(),
        patience: Patience = Patience(),
        token: @escaping @Sendable () async throws -> String
    ) {
        connection = Connection(
            base: base, credential: { ("Authorization", "Bearer \(try await token())") },
            transport: transport, patience: patience)
    }

    private struct Envelope<Value: Decodable>: Decodable { let data: Value }

    /// Registers a device for the user alone, or renews its registration. Call it at each start of the app.
    ///
    /// - Parameters:
    ///   - name: for a list of devices, at most 256 bytes. If omitted, the known one stays.
    ///   - appVersion: at most 256 bytes.
    ///   - model: such as `iPhone15,2`, at most 128 bytes as `system` is.
    ///   - system: such as `iOS 19.1`.
    ///   - profile: changes what is known of the user after the registration, as ``changeProfile(_:)`` does. If that is
    ///     refused, it throws although the device is registered: ``TurnstoneError/conflict(_:)`` if another user has
    ///     one of the aliases, ``TurnstoneError/refused(status:_:)`` with 422 if there would be too many,
    ///     ``TurnstoneError/later(after:_:)`` if the store is busy. With `session`, the registration is not repeated
    ///     after a 503.
    @discardableResult
    public func register(
        _ token: PushToken, name: String? = nil, appVersion: String? = nil, model: String? = nil,
        system: String? = nil, profile: [String: JSONValue]? = nil
    ) async throws(TurnstoneError) -> RegisteredDevice {
        var body = token.members("deviceToken")
        body["deviceName"] = name.map { .string($0) }
        body.merge(Self.members(appVersion, model, system, profile)) { $1 }
        let device = try await connection.value(
            "POST", "api/devices/register", as: Envelope<RegisteredDevice>.self, body: body,
            once: profile?.beginsSession == true
        ).data
        try Registration.check(device.id)
        return device
    }

    /// What both registrations tell of the app, its device and its user.
    private static func members(
        _ appVersion: String?, _ model: String?, _ system: String?, _ profile: [String: JSONValue]?
    ) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["appVersion"] = appVersion.map { .string($0) }
        members["model"] = model.map { .string($0) }
        members["os"] = system.map { .string($0) }
        members["profile"] = profile.map { .object($0) }
        return members
    }

    /// Registers a device, as a replacement of another token or for another APNs environment.
    ///
    /// - Parameters:
    ///   - environment: of an Apple device, if it differs from the installation's own. If omitted, the known one
    ///     stays.
    ///   - previous: the user's token that this one replaces. The device keeps its name and its notifications.
    ///   - profile: as for the other call, which may throw although the device is registered.
    /// - Returns: the device's id.
    @discardableResult
    public func registerDevice(
        _ token: PushToken, environment: APNsEnvironment? = nil,
        replacing previous: PushToken? = nil, appVersion: String? = nil, model: String? = nil,
        system: String? = nil, profile: [String: JSONValue]? = nil
    ) async throws(TurnstoneError) -> String {
        var body = token.members("token")
        body["tokenType"] = .string("device")
        body["environment"] = environment.map { .string($0.rawValue) }
        if let previous { body.merge(previous.previousMember) { $1 } }
        body.merge(Self.members(appVersion, model, system, profile)) { $1 }
        return try await register(body, once: profile?.beginsSession == true)
    }

    private func register(
        _ body: [String: JSONValue], once: Bool = false
    ) async throws(TurnstoneError) -> String {
        try await connection.value(
            "POST", "api/push/register", as: Registration.self, body: body, once: once
        ).knownID()
    }

    /// The user's devices, the most recently registered first.
    public func devices() async throws(TurnstoneError) -> [RegisteredDevice] {
        try await connection.value("GET", "api/devices", as: Envelope<[RegisteredDevice]>.self).data
    }

    /// Removes a device by its id or its token, for instance when the user signs out.
    public func unregister(_ idOrToken: String) async throws(TurnstoneError) {
        try await connection.remove(
            "api/devices/\(try Connection.encoded(idOrToken))", absent: Self.absent)
    }

    /// Registers the token of a Live Activity.
    ///
    /// - Parameters:
    ///   - activity: the app's id of the activity: globally unique, such as a UUID.
    ///   - session: what the activity shows. It is public: anyone who knows it can listen to it. At least one
    ///     of both.
    ///   - previous: the token that this one replaces.
    /// - Returns: an id by which the token can be removed.
    @discardableResult
    public func registerActivity(
        _ token: Data, activity: String? = nil, session: String? = nil,
        replacing previous: Data? = nil,
        environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> String {
        var body = PushToken.apple(token).members("token")
        body["tokenType"] = .string("live_activity")
        body["activityId"] = activity.map { .string($0) }
        body["sessionId"] = session.map { .string($0) }
        body["previousToken"] = previous.map { .string(PushToken.apple($0).text) }
        body["environment"] = environment.map { .string($0.rawValue) }
        return try await register(body)
    }

    /// Registers the token with which a backend starts Live Activities (ActivityKit's push-to-start token).
    ///
    /// - Parameter attributesType: the name of the activity's type.
    @discardableResult
    public func registerActivityStart(
        _ token: Data, attributesType: String, environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> String {
        var body = PushToken.apple(token).members("token")
        body["tokenType"] = .string("live_activity_start")
        body["attributesType"] = .string(attributesType)
        body["environment"] = environment.map { .string($0.rawValue) }
        return try await register(body)
    }

    /// Removes a token of the user's, whatever its kind, by the id that its registration answered.
    public func invalidate(_ id: String) async throws(TurnstoneError) {
        try await connection.remove(
            "api/push/invalidate", body: ["id": id], absent: Self.absent)
    }

    /// 403 if only a player has the token.
    private static let absent = [403, 404]

    /// Which of the user's tokens can receive pushes.
    public struct Status: Decodable, Hashable, Sendable {
        public struct Activity: Decodable, Hashable, Sendable {
            public let activityId: String?
            public let sessionId: String?
            public let registeredAt: Date
        }

        /// A device that pushes can reach.
        public struct Device: Decodable, Hashable, Sendable, Identifiable {
            public let id: String
            /// `ios`, `android` or `web`.
            public let platform: String
        }

        /// An app that reads `false` should register its token again.
        public let deviceTokenRegistered: Bool
        /// The user's devices, without those that a push service has rejected. Nil: an older installation.
        public let devices: [Device]?
        public let liveActivityTokens: [Activity]
    }

    public func status() async throws(TurnstoneError) -> Status {
        try await connection.value("GET", "api/push/status")
    }

    /// The key with which a page subscribes a browser to Web Push: `applicationServerKey`, in base64url.
    ///
    /// - Throws: ``TurnstoneError/notFound(_:)`` if the installation does not reach browsers.
    public func webPushKey() async throws(TurnstoneError) -> String {
        try await connection.webPushKey()
    }

    private struct Badge: Decodable { let badge: Int }

    /// The number on the app's icon.
    public func badge() async throws(TurnstoneError) -> Int {
        try await connection.value("GET", "api/badge", as: Badge.self).badge
    }

    /// Sets the number on the icon; the user's other devices get it silently.
    ///
    /// - Parameter device: the id or token of this device, which shows the number already.
    @discardableResult
    public func setBadge(_ number: Int, from device: String? = nil) async throws(TurnstoneError)
        -> Int
    {
        try await change(.int(Int64(number)), device)
    }

    /// Adds to the number on the icon, which stays between 0 and 999,999. A change beyond ±999,999 is refused.
    @discardableResult
    public func changeBadge(by change: Int, from device: String? = nil) async throws(TurnstoneError)
        -> Int
    {
        try await self.change(.string(change < 0 ? "\(change)" : "+\(change)"), device)
    }

    private func change(_ badge: JSONValue, _ device: String?) async throws(TurnstoneError) -> Int {
        var body = ["badge": badge]
        body["deviceToken"] = device.map { .string($0) }
        return try await connection.value("PUT", "api/badge", as: Badge.self, body: body).badge
    }

    public func preferences() async throws(TurnstoneError) -> NotificationPreferences {
        try await connection.preferences()
    }

    /// Replaces the preferences.
    ///
    /// - Returns: as they are now.
    @discardableResult
    public func set(
        _ preferences: NotificationPreferences
    ) async throws(TurnstoneError) -> NotificationPreferences {
        try await connection.set(preferences)
    }

    /// The user's properties, as `GET /api/profile` describes it.
    public func profile() async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.profile().members
    }

    /// Changes what is known of the user: only the members that are named, and `.null` removes a value.
    ///
    /// ```swift
    /// try await client.changeProfile(["language": .string("de"), "session": .bool(true)])
    /// ```
    @discardableResult
    public func changeProfile(
        _ changes: [String: JSONValue]
    ) async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.changeProfile(changes).members
    }

    /// The same as ``profile()``, with the state for a change that must not undo another one.
    public func taggedProfile() async throws(TurnstoneError) -> Profile {
        try await connection.profile()
    }

    /// Changes what is known of the user, if nothing has changed it since it was read.
    ///
    /// - Throws: ``TurnstoneError/changed(_:)`` if something has, also the registration of another device: read it
    ///   again; ``TurnstoneError/invalid(_:)`` if the profile has no tag.
    @discardableResult
    public func changeProfile(
        _ changes: [String: JSONValue], since profile: Profile
    ) async throws(TurnstoneError) -> Profile {
        try await connection.changeProfile(changes, since: profile)
    }

    /// What became of the user's notifications of the last 30 days, newest first.
    ///
    /// - Parameters:
    ///   - place: the `next` of the page before. Nil: the newest.
    ///   - limit: at most this many, 1 to 100.
    public func notifications(
        after place: String? = nil, limit: Int = 30
    ) async throws(TurnstoneError) -> NotificationHistory {
        try await connection.notifications(after: place, limit: limit)
    }

    /// Sends the user a notification now, to see whether it arrives.
    ///
    /// - Parameters:
    ///   - device: the id of the only device that gets it. Nil: all of the user's.
    ///   - language: `en`, `de`, `fr`, `ja`, `ko` or `zh`; others count as English.
    /// - Throws: ``TurnstoneError/conflict(_:)`` if no push service reaches any of the devices.
    @discardableResult
    public func sendTest(
        to device: String? = nil, language: String? = nil
    ) async throws(TurnstoneError) -> SentTest {
        try await connection.sendTest(to: device, language: language)
    }
}
