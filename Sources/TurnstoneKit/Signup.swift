import Foundation

/// The way of a player to an API key without the operator, where an installation allows it: a code goes into
/// the player's profile on Online-Go.com, and a key comes back.
///
/// ```swift
/// let signup = Signup(at: address)
/// let code = try await signup.begin(username: "Ann Go")
/// // The player puts `code.text` into the text "About" of the profile.
/// let account = try await signup.confirm(code)
/// let client = PlayerClient(at: address, player: account.player, key: account.key)
/// ```
public struct Signup: Sendable {
    private let connection: Connection

    /// - Parameters:
    ///   - base: the installation's address, with the prefix under which it is mounted.
    ///   - transport: share one between many clients (``DefaultTransport``).
    public init(
        at base: URL, transport: any Transport = DefaultTransport(),
        patience: Patience = Patience()
    ) {
        connection = Connection(
            base: base, credential: { nil }, transport: transport, patience: patience)
    }

    private struct Offer: Decodable {
        let signup: String
        let site: URL?
    }

    /// The site with the player's profile. Nil if the installation gives no keys this way.
    public func site() async throws(TurnstoneError) -> URL? {
        let offer = try await connection.value("GET", "signup", as: Offer.self)
        if offer.signup == "off" { return nil }
        guard offer.signup == "ogs-profile", let site = offer.site,
            ["https", "http"].contains(site.scheme)
        else { throw .unexpected("the answer is not that of an installation") }
        return site
    }

    /// A code for a player's profile. Store it until it is confirmed: the system may end the app while the player
    /// is on the site.
    public struct Code: Codable, Hashable, Sendable {
        /// What the profile must contain.
        public let text: String
        /// The caller's part, which nobody else may know.
        let token: String
        public let expiresAt: Date
        /// The name as the installation understood it.
        public let username: String

        private enum CodingKeys: String, CodingKey {
            case text = "code"
            case token, username
            case expiresAt = "expires_at"
        }
    }

    /// Gets a code for a player's profile.
    ///
    /// - Parameter username: the player's name, as Online-Go.com shows it.
    public func begin(username: String) async throws(TurnstoneError) -> Code {
        try await connection.value("POST", "signup", body: ["username": username])
    }

    /// A player's number and API key, for ``PlayerClient``.
    public struct Account: Decodable, Hashable, Sendable {
        public let player: String
        /// Keep it in the keychain: it is not shown again once the code has expired.
        public let key: String

        private enum CodingKeys: String, CodingKey {
            case player = "user_id"
            case key = "api_key"
        }
    }

    /// Ends the signup once the code is in the profile. If the answer is lost
    /// (``TurnstoneError/unreachable(_:)``), call it again with the same code: it answers the same key.
    ///
    /// - Parameter revokesOthers: whether the player's other API keys end.
    /// - Throws: ``TurnstoneError/forbidden(_:)`` while the code is not in the profile,
    ///   ``TurnstoneError/unauthorized(_:)`` if it has expired or its key has ended.
    public func confirm(
        _ code: Code, revokesOthers: Bool = false
    ) async throws(TurnstoneError) -> Account {
        let body: [String: JSONValue] = [
            "username": .string(code.username), "token": .string(code.token),
            "revoke_others": .bool(revokesOthers),
        ]
        let account = try await connection.value(
            "POST", "signup/confirm", as: Account.self, body: body)
        guard !account.player.isEmpty, !account.key.isEmpty else {
            throw .unexpected("the answer has no key")
        }
        return account
    }
}

// Logs show neither the key nor the caller's part of a code.

extension Signup.Code: CustomStringConvertible, CustomReflectable {
    public var description: String { "the code \(text) for \(username)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["text": text, "username": username, "expiresAt": expiresAt])
    }
}

extension Signup.Account: CustomStringConvertible, CustomReflectable {
    public var description: String { "the account of player \(player)" }
    public var customMirror: Mirror { Mirror(self, children: ["player": player]) }
}
