import TestSupport
import Testing
import Turnstone

/// A program that answers requests, with a request that it would grant.
struct Endpoint: CustomTestStringConvertible, Sendable {
    let program: String
    let method: String
    let path: String
    var body: String?
    var caller = Caller.key
    /// The largest body that it takes, in bytes.
    var bodyLimit = 64 * 1024

    /// The credential by which the program identifies the caller.
    enum Caller: Sendable {
        /// Anyone may.
        case anyone
        /// An API key.
        case key
        /// A JSON Web Token.
        case token
        /// A server key.
        case server
    }

    /// Whether `front` is started, which hands the request on.
    var isBehindFront = false

    var testDescription: String { isBehindFront ? "\(program) behind front" : program }

    /// The API key of the player 1783478 in the state that ``installation()`` makes.
    static let key = String(repeating: "0a", count: 32)
    static let masterKey = "the master of this house"
    static let token = "8086057500000000000000000000000000000000000000000000000000000001"
    static let secrets = [key, masterKey, token, webToken, jwtSecret, serverKey]
    static let serverKey = "the key of the backend of the app"
    /// OneSignal's id of the app.
    static let appID = "0fc0a8e0-9727-49b6-9e37-5d6d919d741f"
    static let jwtSecret = "the secret of whoever signs tokens"
    /// The same player's JSON Web Token: {"sub": "1783478", "exp": 4102444800}, with HS256.
    static let webToken =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxNzgzNDc4IiwiZXhwIjo0MTAyNDQ0ODAwfQ.gi6GwGiznlIAuePdOfZU2uUlYfezB5Fsf0NF05V-qHI"

    /// Every program but those that a timer starts.
    static let alone = [
        Endpoint(program: "health", method: "GET", path: "/health", caller: .anyone),
        Endpoint(
            program: "generate-api-key", method: "POST", path: "/generate-api-key",
            body: #"{"user_id": "1783478", "master_key": "\#(masterKey)"}"#, caller: .anyone),
        Endpoint(program: "rotate-api-key", method: "POST", path: "/rotate-api-key"),
        Endpoint(program: "api-keys", method: "GET", path: "/api-keys"),
        Endpoint(
            program: "register", method: "POST", path: "/register",
            body: #"{"user_id": "1783478", "device_token": "\#(token)"}"#),
        Endpoint(program: "users-by-token", method: "GET", path: "/users-by-token/\(token)"),
        Endpoint(
            program: "devices-register", method: "POST", path: "/api/devices/register",
            body: #"{"deviceToken": "\#(token)", "platform": "ios"}"#, caller: .token),
        Endpoint(
            program: "devices-list", method: "GET", path: "/api/devices", caller: .token),
        Endpoint(
            program: "devices-unregister", method: "DELETE", path: "/api/devices/\(token)",
            caller: .token),
        Endpoint(
            program: "push-register", method: "POST", path: "/api/push/register",
            body: #"{"token": "\#(token)", "tokenType": "device"}"#, caller: .token),
        Endpoint(
            program: "push-invalidate", method: "DELETE", path: "/api/push/invalidate",
            body: #"{"token": "\#(token)"}"#, caller: .token),
        Endpoint(
            program: "push-status", method: "GET", path: "/api/push/status", caller: .token),
        Endpoint(
            program: "push-config", method: "GET", path: "/api/push/config", caller: .anyone),
        Endpoint(
            program: "live-activity", method: "POST", path: "/api/push/live-activity",
            body: #"{"userId": "1783478", "contentState": {}}"#,
            caller: .server),
        Endpoint(
            program: "channels", method: "POST", path: "/api/push/channels",
            body: #"{"messageStoragePolicy": "none"}"#, caller: .server),
        Endpoint(
            program: "notify", method: "POST", path: "/api/notify",
            body: #"{"devices": ["\#(token)"], "loc_key": "HELLO"}"#, caller: .server,
            bodyLimit: 1 << 20),
        Endpoint(
            program: "events", method: "POST", path: "/api/events",
            body: ##"{"event": "approval_cleared", "devices": ["\##(token)"], "##
                + #""values": {"requestId": "7"}}"#,
            caller: .server, bodyLimit: 1 << 20),
        Endpoint(
            program: "preferences", method: "GET", path: "/api/preferences", caller: .token),
        Endpoint(
            program: "notifications", method: "GET", path: "/api/notifications", caller: .token),
        Endpoint(program: "status", method: "GET", path: "/api/status", caller: .server),
        Endpoint(program: "signup", method: "GET", path: "/signup", caller: .anyone),
        Endpoint(program: "segments", method: "GET", path: "/api/segments", caller: .server),
        Endpoint(program: "profile", method: "GET", path: "/api/profile", caller: .token),
        Endpoint(program: "badge", method: "GET", path: "/api/badge", caller: .token),
        Endpoint(
            program: "users", method: "GET", path: "/api/users/1783478", caller: .server),
        Endpoint(
            program: "onesignal-notifications", method: "POST", path: "/notifications",
            body: #"{"app_id": "\#(appID)", "include_ios_tokens": ["\#(token)"], "#
                + #""contents": {"en": "x"}}"#,
            caller: .server, bodyLimit: 1 << 20),
        Endpoint(
            program: "onesignal-users", method: "POST", path: "/apps/\(appID)/users",
            body: #"{"identity": {"external_id": "1783478"}}"#, caller: .server),
        Endpoint(
            program: "onesignal-subscriptions", method: "PATCH",
            path: "/apps/\(appID)/subscriptions_by_token/iOSPush/\(token)",
            body: #"{"subscription": {"enabled": true}}"#, caller: .server),
        Endpoint(
            program: "onesignal-segments", method: "GET", path: "/apps/\(appID)/segments",
            caller: .server),
        Endpoint(
            program: "onesignal-players", method: "POST", path: "/players",
            body: #"{"app_id": "\#(appID)", "device_type": 5, "#
                + #""identifier": "https://fcm.googleapis.com/fcm/send/x", "#
                + #""web_p256": "BAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8", "#
                + #""web_auth": "AAECAwQFBgcICQoLDA0ODw"}"#,
            caller: .server),
        Endpoint(
            program: "onesignal-apps", method: "GET", path: "/apps/\(appID)", caller: .server),
        Endpoint(program: "check", method: "GET", path: "/check/1783478"),
        Endpoint(program: "diagnostics", method: "GET", path: "/diagnostics/1783478"),
    ]

    /// They, and the same behind `front`.
    static let all = alone + alone.map(\.behindFront)

    private var behindFront: Endpoint {
        var endpoint = self
        endpoint.isBehindFront = true
        return endpoint
    }

    /// The programs that a timer starts.
    static let scheduled = ["check-turns", "deliver", "deliver-web"]

    static let withBody = all.filter { $0.body != nil }
    static let withCredential = all.filter { $0.caller != .anyone }

    /// The header that identifies the caller.
    var credential: (name: String, value: String)? {
        switch caller {
        case .anyone: nil
        case .key: ("X-API-Key", Self.key)
        case .token: ("Authorization", "Bearer \(Self.webToken)")
        case .server: ("Authorization", "Key \(Self.serverKey)")
        }
    }

    /// A state folder in which the request would be granted without asking OGS, which is not there.
    static func installation(environment: [String: String] = [:]) throws -> Installation {
        var more = environment
        more["OGS_BASE_URL"] = more["OGS_BASE_URL"] ?? "http://127.0.0.1:1"
        more["MASTER_API_KEY"] = more["MASTER_API_KEY"] ?? masterKey
        more["TURNSTONE_SERVER_KEY"] = more["TURNSTONE_SERVER_KEY"] ?? serverKey
        more["TURNSTONE_DELIVER"] = more["TURNSTONE_DELIVER"] ?? "external"
        more["JWT_SECRET"] = more["JWT_SECRET"] ?? jwtSecret
        more["ONESIGNAL_APP_ID"] = more["ONESIGNAL_APP_ID"] ?? appID
        more["VAPID_SUBJECT"] = more["VAPID_SUBJECT"] ?? "mailto:push@example.org"
        let installation = try Installation(environment: more)
        try installation.state.write(#"{"version":3}"#, to: "version.json")
        // The names are SHA-256s: of the key, and of the player's number.
        let hash = "2db6b2a7b2fbb5fbf2ea7fcbacb5e1645fb6bf3c0d606ce5b88a23533b32d4b8"
        try installation.state.write(
            #"{"version":1,"revision":1,"owner":"1783478","description":"iPhone","#
                + #""created_at":1763733600000,"last_used":"2026-11-21"}"#,
            to: "keys/2d/\(hash).json")
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[],"ledger":[],"notices":0,"keys":["\#(hash)"]}"#,
            to: "users/eb/1783478.json")
        return installation
    }

    /// The header line that identifies the caller, if any.
    var headerLine: String { credential.map { "\($0.name): \($0.value)\r\n" } ?? "" }

    /// The same as CGI and OpenFaaS' watchdog pass it.
    func entry(_ prefix: String = "HTTP_") -> String {
        guard let (name, value) = credential else { return "" }
        return prefix + name.uppercased().replacing("-", with: "_") + "=" + value
    }

    /// A template with this endpoint's method, path and credential in the place of `{M}`, `{P}` and `{K}` (in
    /// the form that the front has), more than it takes in that of `{L}`, and U+F8FF as the byte FF, which is
    /// never part of UTF-8.
    func filled(_ template: String, credential: String = "") -> [UInt8] {
        var text = template.replacing("{M}", with: method).replacing("{P}", with: path)
            .replacing("{K}", with: credential)
        if text.contains("{L}") {
            text = text.replacing("{L}", with: String(repeating: "b", count: bodyLimit + 1))
        }
        let parts = text.unicodeScalars.split(
            separator: "\u{F8FF}", omittingEmptySubsequences: false)
        return Array(parts.map { Array(String($0).utf8) }.joined(separator: [0xff]))
    }
}
