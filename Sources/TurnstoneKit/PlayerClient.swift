import Foundation

/// The routes that a player of Online-Go.com calls with an API key.
///
/// ```swift
/// let client = PlayerClient(at: URL(string: "https://push.example.org")!, player: "1783478", key: key)
/// try await client.register(.apple(deviceToken))
/// ```
///
/// Keep the key in the keychain: anyone who has it can read and change what belongs to the player.
public struct PlayerClient: Sendable {
    public let player: String
    private let connection: Connection

    /// - Parameters:
    ///   - base: the installation's address, with the prefix under which it is mounted.
    ///   - player: the player's number on Online-Go.com.
    ///   - key: the player's API key.
    ///   - transport: share one between many clients (``DefaultTransport``).
    public init(
        at base: URL, player: String, key: String, transport: any Transport = DefaultTransport(),
        patience: Patience = Patience()
    ) {
        self.player = player
        connection = Connection(
            base: base, credential: { ("X-API-Key", key) }, transport: transport, patience: patience
        )
    }

    /// A client of the player to whom a key belongs, for a key that came without the player's number.
    ///
    /// - Throws: ``TurnstoneError/unauthorized(_:)`` if it is nobody's.
    public init(
        at base: URL, key: String, transport: any Transport = DefaultTransport(),
        patience: Patience = Patience()
    ) async throws(TurnstoneError) {
        let unnamed = PlayerClient(
            at: base, player: "", key: key, transport: transport, patience: patience)
        let keys = try await unnamed.connection.value("GET", "api-keys", as: Keys.self)
        guard let player = keys.user_id, !player.isEmpty,
            player.utf8.allSatisfy({ (48...57).contains($0) })
        else {
            throw .unexpected("the answer does not say whose key it is")
        }
        self.init(at: base, player: player, key: key, transport: transport, patience: patience)
    }

    /// Makes a player an API key. For the operator: whoever has the master key can be any player.
    ///
    /// - Parameters:
    ///   - masterKey: the installation's `MASTER_API_KEY`.
    ///   - description: for the player's list of keys, at most 200 bytes.
    /// - Returns: the key, which is not shown again.
    public static func makeKey(
        at base: URL, for player: String, masterKey: String, description: String? = nil,
        transport: any Transport = DefaultTransport(), patience: Patience = Patience()
    ) async throws(TurnstoneError) -> String {
        let connection = Connection(
            base: base, credential: { nil }, transport: transport, patience: patience)
        var body: [String: JSONValue] = [
            "user_id": .string(player), "master_key": .string(masterKey),
        ]
        body["description"] = description.map { .string($0) }
        let made = try await connection.value(
            "POST", "generate-api-key", as: NewKey.self, body: body)
        guard made.user_id == player else {
            throw .unexpected("the answer is about another player")
        }
        return try made.key()
    }

    /// Registers a device for the player, or renews its registration. Call it at each start of the app.
    ///
    /// - Parameters:
    ///   - name: for a list of devices, at most 200 bytes. If omitted, the known one stays.
    ///   - environment: if it differs from the installation's own.
    /// - Returns: the device's id.
    @discardableResult
    public func register(
        _ token: PushToken, name: String? = nil, environment: APNsEnvironment? = nil
    ) async throws(TurnstoneError) -> String {
        var body = token.members("device_token")
        body["device_name"] = name.map { .string($0) }
        body["user_id"] = .string(player)
        body["environment"] = environment.map { .string($0.rawValue) }
        return try await connection.value("POST", "register", as: Registration.self, body: body)
            .knownID()
    }

    /// Removes a device of the player by its id or its token, for instance when the player signs out.
    public func unregister(_ idOrToken: String) async throws(TurnstoneError) {
        try await connection.remove(
            "register/\(try Connection.encoded(idOrToken))",
            member: ("status", "unregistered"))
    }

    private struct Devices: Decodable { let data: [RegisteredDevice] }

    /// The player's devices, the most recently registered first.
    public func devices() async throws(TurnstoneError) -> [RegisteredDevice] {
        try await connection.value("GET", "api/devices", as: Devices.self).data
    }

    /// The same as ``AppClient/webPushKey()``.
    public func webPushKey() async throws(TurnstoneError) -> String {
        try await connection.webPushKey()
    }

    /// A player's active games by whose turn it is, as numbers.
    public struct Games: Decodable, Hashable, Sendable {
        /// It is the player's turn, and the player was not told before.
        public let yourTurnNew: [Int64]
        /// It is the player's turn; the player was told, or the game is paused or live.
        public let yourTurnOld: [Int64]
        public let notYourTurn: [Int64]

        private enum CodingKeys: String, CodingKey {
            case yourTurnNew = "your_turn_new"
            case yourTurnOld = "your_turn_old"
            case notYourTurn = "not_your_turn"
        }
    }

    /// Looks for turns now, and has pushed what is new. The installation does so by itself every half minute.
    public func check() async throws(TurnstoneError) -> Games {
        try await connection.value("GET", "check/\(try Connection.encoded(player))")
    }

    /// The installation's knowledge about the player, for a status screen.
    ///
    /// - Parameter details: whether each game tells its opponent and its time.
    public func diagnostics(details: Bool = false) async throws(TurnstoneError) -> Diagnostics {
        let query = details ? "?details=true" : ""
        return try await connection.value(
            "GET", "diagnostics/\(try Connection.encoded(player))\(query)")
    }

    private struct Players: Decodable {
        let user_ids: [String]
    }

    /// The players who are registered on a device, in the order of their registration. Empty if this one is
    /// not.
    public func players(on idOrToken: String) async throws(TurnstoneError) -> [String] {
        let path = "users-by-token/\(try Connection.encoded(idOrToken))"
        return try await connection.value("GET", path, as: Players.self).user_ids
    }

    /// One of the player's API keys. The key itself is never shown.
    public struct Key: Decodable, Hashable, Sendable, Identifiable {
        public let id: String
        public let description: String?
        /// ISO 8601.
        public let createdAt: String
        /// The day in UTC, such as `2026-11-21`.
        public let lastUsed: String?

        private enum CodingKeys: String, CodingKey {
            case id, description
            case createdAt = "created_at"
            case lastUsed = "last_used"
        }
    }

    private struct Keys: Decodable {
        /// Nil: an older installation.
        let user_id: String?
        let api_keys: [Key]
    }

    public func keys() async throws(TurnstoneError) -> [Key] {
        try await connection.value("GET", "api-keys", as: Keys.self).api_keys
    }

    /// Revokes one of the player's keys, for instance that of a lost phone.
    ///
    /// - Throws: ``TurnstoneError/unauthorized(_:)`` if this client's own key does not work. That may come from this
    ///   call, if it revokes that key and is repeated after a 503. It does not say that another key was revoked.
    public func revokeKey(_ id: String) async throws(TurnstoneError) {
        try await connection.remove(
            "api-keys/\(try Connection.encoded(id))", member: ("revoked", true))
    }

    private struct NewKey: Decodable {
        let api_key: String
        let user_id: String?

        func key() throws(TurnstoneError) -> String {
            guard !api_key.isEmpty else { throw .unexpected("the answer has no key") }
            return api_key
        }
    }

    /// Replaces this client's key, which stops working at once: make another client with the new one. If the
    /// answer is lost, the player needs a new key from the operator.
    ///
    /// It is not repeated after a 503: a new key that nobody has may be left. ``keys()`` says whether this client's
    /// key still works.
    public func rotateKey() async throws(TurnstoneError) -> String {
        try await connection.value("POST", "rotate-api-key", as: NewKey.self, once: true).key()
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

    /// The player's language and other properties, as `GET /api/profile` describes it.
    public func profile() async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.profile().members
    }

    /// Changes what is known of the player: only the members that are named, and `.null` removes a value.
    /// Turn notices are in the `language`.
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

    /// Changes what is known of the player, if nothing has changed it since it was read.
    ///
    /// - Throws: ``TurnstoneError/changed(_:)`` if something has, also the registration of another device: read it
    ///   again; ``TurnstoneError/invalid(_:)`` if the profile has no tag.
    @discardableResult
    public func changeProfile(
        _ changes: [String: JSONValue], since profile: Profile
    ) async throws(TurnstoneError) -> Profile {
        try await connection.changeProfile(changes, since: profile)
    }

    /// What became of the player's notifications of the last 30 days, newest first.
    ///
    /// - Parameters:
    ///   - place: the `next` of the page before. Nil: the newest.
    ///   - limit: at most this many, 1 to 100.
    public func notifications(
        after place: String? = nil, limit: Int = 30
    ) async throws(TurnstoneError) -> NotificationHistory {
        try await connection.notifications(after: place, limit: limit)
    }

    /// Sends the player a notification now, to see whether it arrives.
    ///
    /// - Parameters:
    ///   - device: the id of the only device that gets it. Nil: all of the player's.
    ///   - language: `en`, `de`, `fr`, `ja`, `ko` or `zh`; others count as English.
    /// - Throws: ``TurnstoneError/conflict(_:)`` if no push service reaches any of the devices.
    @discardableResult
    public func sendTest(
        to device: String? = nil, language: String? = nil
    ) async throws(TurnstoneError) -> SentTest {
        try await connection.sendTest(to: device, language: language)
    }
}
