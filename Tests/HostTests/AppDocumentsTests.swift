import JSON
import TestSupport
import Testing
import Turnstone

/// An app's way through `/api/devices` and `/api/push`, as the documents of these interfaces show it: through
/// nginx, by tokens that another library has signed.
@Suite(
    .testable(.nginx),
    .enabled(if: WebTokens.isInstalled, "python3-jwt or openssl is not installed"))
struct AppDocumentsTests {
    private static let phone = "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
    private static let tablet = "b1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f91"
    private static let activity = "c1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f92"
    private static let next = "d1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f93"

    /// A user of an app behind nginx.
    private struct Caller {
        let site: Site
        var headers: [(String, String)]

        init(_ site: Site, token: String) {
            self.site = site
            headers = [("Authorization", "Bearer \(token)")]
        }

        init(_ site: Site, headers: [(String, String)]) {
            self.site = site
            self.headers = headers
        }

        /// Asks, and expects exactly this.
        @discardableResult
        func expect(
            _ status: Int, _ expected: JSONValue, _ method: String, _ path: String,
            _ body: JSONValue? = nil
        ) throws -> JSONValue? {
            var request = HostRequest(method: method, target: path, headers: headers)
            if let body {
                request.headers.append(("Content-Type", "application/json"))
                request.body = JSON.text(body)
            }
            let answer = try site.answer(request, from: "health")
            #expect(answer.status == status, "\(method) \(path): \(answer.text)")
            #expect(
                answer.json.map { Pattern.matches($0, expected) } == true,
                "\(method) \(path): \(answer.text)")
            return answer.json
        }
    }

    private static func error(_ sentence: String) -> JSONValue {
        ["success": false, "error": .string(sentence)]
    }

    private static func device(_ name: String) -> JSONValue {
        [
            "id": "…", "platform": "ios", "deviceName": .string(name), "createdAt": "20…T…:…:….…Z",
            "updatedAt": "20…T…:…:….…Z",
        ]
    }

    /// A device as a list shows it that nothing was pushed to yet.
    private static func listed(_ name: JSONValue) -> JSONValue {
        [
            "id": "…", "platform": "ios", "deviceName": name, "createdAt": "20…T…:…:….…Z",
            "updatedAt": "20…T…:…:….…Z", "reachedAt": .null,
        ]
    }

    private static func registration(_ token: String, _ name: String) -> JSONValue {
        [
            "deviceToken": .string(token), "platform": "ios", "deviceName": .string(name),
            "appVersion": "1.0.0",
        ]
    }

    private static func registered(_ name: String) -> JSONValue {
        [
            "success": true, "message": "Device token registered successfully",
            "data": device(name),
        ]
    }

    private func site(_ tokens: WebTokens) throws -> Site {
        let site = try Site(.nginx)
        try site.install(tokens.configuration)
        return site
    }

    @Test("devices: register, list, unregister", arguments: WebTokens.Algorithm.allCases)
    func devices(algorithm: WebTokens.Algorithm) throws {
        let tokens = try WebTokens(algorithm)
        let site = try site(tokens)
        let ann = Caller(site, token: try tokens.token(for: "ann"))
        let (path, phone) = (
            "/api/devices/register", Self.registration(Self.phone, "iPhone 15 Pro")
        )
        let first = try ann.expect(200, Self.registered("iPhone 15 Pro"), "POST", path, phone)
        try ann.expect(
            200, Self.registered("iPad Pro"), "POST", path,
            Self.registration(Self.tablet, "iPad Pro"))
        let again = try ann.expect(200, Self.registered("iPhone 15 Pro"), "POST", path, phone)
        for member in ["id", "createdAt"] {
            #expect(
                again?.object?["data"]?.object?[member] == first?.object?["data"]?.object?[member])
        }
        let both: JSONValue = [
            "success": true, "data": [Self.listed("iPhone 15 Pro"), Self.listed("iPad Pro")],
        ]
        let list = try ann.expect(200, both, "GET", "/api/devices")
        #expect(list.map { !"\($0)".contains(Self.phone) } == true)

        try ann.expect(
            400, Self.error("Invalid device token: …"), "POST", path, ["platform": "ios"])
        try ann.expect(
            400, Self.error("Invalid device token: …"), "POST", path,
            Self.registration("a1b2c3d4", "short"))
        try ann.expect(
            400, Self.error("Invalid platform: …"), "POST", path,
            ["deviceToken": .string(Self.phone), "platform": "windows"])

        let gone: JSONValue = [
            "success": true, "message": "Device token unregistered successfully",
        ]
        let bob = Caller(site, token: try tokens.token(for: "bob"))
        try bob.expect(403, Self.error("Not authorized"), "DELETE", "/api/devices/\(Self.phone)")
        try ann.expect(200, gone, "DELETE", "/api/devices/\(Self.phone)")
        try ann.expect(404, Self.error("Token not found"), "DELETE", "/api/devices/\(Self.phone)")
        try ann.expect(
            200, ["success": true, "data": [Self.listed("iPad Pro")]], "GET", "/api/devices")
    }

    @Test(
        "without a token that is believed, access is denied",
        arguments: WebTokens.Algorithm.allCases)
    func strangers(algorithm: WebTokens.Algorithm) throws {
        let tokens = try WebTokens(algorithm)
        let site = try site(tokens)
        let others = try WebTokens(algorithm == .hs256 ? .rs256 : .hs256)
        let strangers = [
            Caller(site, headers: []), Caller(site, token: "x"),
            Caller(site, token: try others.token(for: "ann")),
            Caller(site, token: try WebTokens(.es256).token(for: "ann")),
            Caller(site, token: try tokens.token(for: "ann", lifetime: -120)),
        ]
        for stranger in strangers {
            for (method, path) in [
                ("POST", "/api/devices/register"), ("GET", "/api/devices"),
                ("DELETE", "/api/devices/\(Self.phone)"), ("POST", "/api/push/register"),
                ("DELETE", "/api/push/invalidate"), ("GET", "/api/push/status"),
            ] {
                let body = method == "POST" ? Self.registration(Self.phone, "x") : nil
                try stranger.expect(401, Self.error("Access denied: …"), method, path, body)
            }
        }
        // Two clocks may differ by a minute.
        let late = Caller(site, token: try tokens.token(for: "ann", lifetime: -10))
        try late.expect(200, ["success": true, "data": []], "GET", "/api/devices")
    }

    @Test("a cookie does as well, from pages of the same origin")
    func cookies() throws {
        let tokens = try WebTokens(.hs256)
        let site = try site(tokens)
        let cookie = ("Cookie", "theme=dark; authToken=\(try tokens.token(for: "ann"))")
        func caller(_ headers: (String, String)...) -> Caller {
            Caller(site, headers: [cookie] + headers)
        }
        let registration = Self.registration(Self.phone, "Safari")
        let path = "/api/devices/register"
        for own in [
            caller(("Origin", "https://localhost")), caller(("Sec-Fetch-Site", "same-origin")),
        ] {
            try own.expect(200, Self.registered("Safari"), "POST", path, registration)
        }
        // A native app's: no browser sends JSON to another site without asking first.
        try caller().expect(200, Self.registered("Safari"), "POST", path, registration)
        for other in [
            caller(("Origin", "https://elsewhere.example")),
            caller(("Sec-Fetch-Site", "cross-site")),
        ] {
            let error = Self.error(
                "this request comes from another site, whose origin is not in ALLOWED_ORIGINS")
            try other.expect(403, error, "POST", path, registration)
            try other.expect(403, error, "DELETE", "/api/devices/\(Self.phone)")
            try other.expect(
                200, ["success": true, "data": [Self.listed("Safari")]], "GET", "/api/devices")
        }
    }

    @Test(
        "push tokens: register, rotate, status, invalidate", arguments: WebTokens.Algorithm.allCases
    )
    func pushTokens(algorithm: WebTokens.Algorithm) throws {
        let tokens = try WebTokens(algorithm)
        let site = try site(tokens)
        let ann = Caller(site, token: try tokens.token(for: "ann"))
        let done: JSONValue = ["success": true]
        func status(_ isRegistered: Bool, _ activities: [JSONValue]) -> JSONValue {
            [
                "deviceTokenRegistered": .bool(isRegistered),
                "devices": isRegistered ? [["id": "…", "platform": "ios"]] : [],
                "liveActivityTokens": .array(activities),
            ]
        }
        let activity: JSONValue = [
            "activityId": "a-1", "sessionId": "s-1", "registeredAt": "20…T…:…:….…Z",
        ]
        func register(_ token: String, _ more: JSONObject) throws {
            var body: JSONObject = [
                "token": .string(token), "platform": "ios", "environment": "development",
            ]
            for member in more.members { body[member.name] = member.value }
            try ann.expect(
                200, ["success": true, "id": "…"], "POST", "/api/push/register", .object(body))
        }
        let names: JSONObject = [
            "tokenType": "live_activity", "activityId": "a-1", "sessionId": "s-1",
        ]
        try ann.expect(200, status(false, []), "GET", "/api/push/status")
        try register(Self.phone, ["tokenType": "device"])
        try register(Self.activity, names)
        try ann.expect(200, status(true, [activity]), "GET", "/api/push/status")

        var rotation = names
        rotation["previousToken"] = .string(Self.activity)
        try register(Self.next, rotation)
        try register(Self.tablet, ["tokenType": "device", "previousToken": .string(Self.phone)])
        try ann.expect(200, status(true, [activity]), "GET", "/api/push/status")
        let invalidate = "/api/push/invalidate"
        for old in [Self.activity, Self.phone] {
            try ann.expect(
                404, Self.error("Token not found"), "DELETE", invalidate, ["token": .string(old)])
        }
        let bob = Caller(site, token: try tokens.token(for: "bob"))
        try bob.expect(
            403, Self.error("Not authorized"), "DELETE", invalidate, ["token": .string(Self.next)])
        try ann.expect(200, done, "DELETE", invalidate, ["token": .string(Self.next)])
        try ann.expect(200, status(true, []), "GET", "/api/push/status")
        try ann.expect(200, done, "DELETE", invalidate, ["token": .string(Self.tablet)])
        try ann.expect(200, status(false, []), "GET", "/api/push/status")
    }

    @Test("a device is one and the same through every face, and moves with its user's account")
    func faces() throws {
        let tokens = try WebTokens(.hs256)
        let site = try Site(.nginx)
        try Installed.player(at: site)
        try site.configure(tokens.configuration)
        let key = Caller(site, headers: [("X-API-Key", Installed.key)])
        let player = Caller(site, token: try tokens.token(for: "1783478"))
        let ann = Caller(site, token: try tokens.token(for: "ann"))
        func holders(of token: String, _ users: [JSONValue]) throws {
            try key.expect(
                200, ["device_token": .string(token), "user_ids": .array(users)], "GET",
                "/users-by-token/\(token)")
        }
        func list(_ devices: [JSONValue]) throws {
            try player.expect(
                200, ["success": true, "data": .array(devices)], "GET", "/api/devices")
        }
        try key.expect(
            200, ["status": "registered", "id": "…"], "POST", "/register",
            ["user_id": "1783478", "device_token": .string(Self.phone)])
        try list([Self.listed(.null)])
        try player.expect(
            200, Self.registered("iPad Pro"), "POST", "/api/devices/register",
            Self.registration(Self.tablet, "iPad Pro"))
        try holders(of: Self.tablet, ["1783478"])
        try ann.expect(
            200, ["success": true, "id": "…"], "POST", "/api/push/register",
            ["token": .string(Self.phone), "tokenType": "device"])
        try list([Self.listed("iPad Pro")])
        try key.expect(
            200, ["status": "unregistered"], "DELETE", "/register/\(Self.tablet)")
        try list([])
        try key.expect(
            200, ["status": "registered", "id": "…"], "POST", "/register",
            ["user_id": "1783478", "device_token": .string(Self.phone)])
        try holders(of: Self.phone, ["ann", "1783478"])
    }
}
