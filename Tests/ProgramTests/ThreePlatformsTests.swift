import Crypto
import JSON
import TestSupport
import Testing
import Turnstone

/// A user with an iPhone, an Android phone and a browser, from registration to the queues.
@Suite struct ThreePlatformsTests {
    private static let server = "the-key-of-a-backend-with-32-bytes"
    private static let key = String(repeating: "0a", count: 32)
    private static let player = "1783478"
    private static let iPhone = String(repeating: "ab", count: 32)
    private static let android = "fK3xQ-Z_r0k:APA91bGmB4kP9z_7h-Xw2vUqSn1LcD8yTeRfAoJiHbNgMkVs"
    private static let mozilla = "https://updates.push.services.mozilla.com"

    private let installation: Installation

    init() throws {
        installation = try Installation(environment: [
            "TURNSTONE_SERVER_KEY": Self.server, "TURNSTONE_DELIVER": "external",
            "FCM_SERVICE_ACCOUNT": "/nowhere/account.json",
            "VAPID_SUBJECT": "mailto:push@example.org",
        ])
        try installation.state.write(#"{"version":3}"#, to: "version.json")
        let hash = hex(SHA256.hash(Array(Self.key.utf8)))
        try installation.state.write(
            #"{"version":1,"revision":1,"owner":"\#(Self.player)","created_at":1}"#,
            to: "keys/\(hash.prefix(2))/\(hash).json")
    }

    @discardableResult
    private func ask(
        _ program: String, _ method: String, _ path: String, _ body: JSONObject? = nil,
        status: Int, without names: [String] = []
    ) throws -> JSONObject {
        var event: JSONObject = [
            "method": .string(method), "path": .string(path),
            "headers": [
                "X-API-Key": .string(Self.key), "Authorization": .string("Key \(Self.server)"),
            ],
        ]
        event["body"] = body.map { .object($0) }
        var environment = installation.environment
        for name in names { environment[name] = nil }
        let ended = try Programs.run(
            program, stdin: JSON.line(.object(event)), environment: environment)
        let answer = try Answer(event: ended.stdout)
        #expect(answer.status == status, "\(answer.body) \(ended.stderr)")
        for secret in ["send/1", "APA91b", "auth="] {
            #expect(!ended.stderr.contains(secret), "\(ended.stderr)")
        }
        return answer.json?.object ?? [:]
    }

    @discardableResult
    private func register(_ members: JSONObject) throws -> String {
        var body = members
        body["user_id"] = .string(Self.player)
        let answer = try ask("register", "POST", "/register", body, status: 200)
        return try #require(answer["id"]?.string)
    }

    /// The ids of the iPhone, the Android phone and the browser.
    private func registerAll() throws -> [String] {
        [
            try register(["device_token": .string(Self.iPhone)]),
            try register(["device_token": .string(Self.android), "platform": "android"]),
            try register([
                "platform": "web", "subscription": browserSubscription(1, at: Self.mozilla),
            ]),
        ]
    }

    private func notify(
        _ body: JSONObject, without names: [String] = []
    ) throws -> JSONObject {
        try ask("notify", "POST", "/api/notify", body, status: 202, without: names)
    }

    /// The lines of the queues' files: for each service the members of its devices.
    private func queues() throws -> [String: [JSONObject]] {
        var queues: [String: [JSONObject]] = [:]
        for (name, bytes) in installation.state.files() where name.hasPrefix("spool/") {
            guard name.hasSuffix(".jsonl") else { continue }
            let service = String(name.split(separator: "/")[1])
            queues[service, default: []] += try bytes.split(separator: UInt8(ascii: "\n"))
                .dropFirst().compactMap { try JSON.parse(Array($0)).object }
        }
        return queues
    }

    @Test(
        "a message to one user goes into the queue of each device's service, with numbers of its own"
    )
    func split() throws {
        _ = try registerAll()
        let sent = try notify(["users": [.string(Self.player)], "title": "Hello"])
        #expect(sent["devices"] == 3 && sent["skipped"] == nil)
        let queues = try queues()
        #expect(queues.keys.sorted() == ["apns", "fcm", "web"])
        #expect(queues["apns"]?.map { $0["device"] } == [.string(Self.iPhone)])
        #expect(queues["fcm"]?.map { $0["device"] } == [.string(Self.android)])
        #expect(
            queues["web"]?.map { $0["device"] } == [.string(browserToken(1, at: Self.mozilla))])
        let numbers = queues.values.flatMap { $0.compactMap { $0["n"]?.integer } }
        #expect(numbers.sorted() == [0, 1, 2])
        let report = try ask(
            "notify", "GET", "/api/notify/\(#require(sent["id"]?.string))", status: 200)
        #expect(report["counts"] == ["waiting": 3])
    }

    @Test(
        "what this installation does not reach is skipped",
        arguments: [
            (["FCM_SERVICE_ACCOUNT"], ["apns", "web"]), (["VAPID_SUBJECT"], ["apns", "fcm"]),
            (["FCM_SERVICE_ACCOUNT", "VAPID_SUBJECT"], ["apns"]),
        ])
    func skipped(without names: [String], services: [String]) throws {
        _ = try registerAll()
        let sent = try notify(["users": [.string(Self.player)], "title": "Hello"], without: names)
        #expect(sent["devices"] == .integer(Int64(services.count)))
        #expect(sent["skipped"] == .integer(Int64(names.count)))
        #expect(try queues().keys.sorted() == services)
    }

    @Test("a page finds and removes its browser by the id, or by the text of its token")
    func unregister() throws {
        let ids = try registerAll()
        let users = try ask("users-by-token", "GET", "/users-by-token/\(ids[2])", status: 200)
        #expect(users["user_ids"] == [.string(Self.player)])
        #expect(users["device_token"] == .string(ids[2]))
        for id in ids { try ask("register", "DELETE", "/register/\(id)", status: 200) }
        for id in ids { try ask("register", "DELETE", "/register/\(id)", status: 404) }
        _ = try registerAll()
        for token in [Self.android, browserToken(1, at: Self.mozilla)] {
            let encoded = token.utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "%" + (digits.count == 1 ? "0" : "") + digits
            }.joined()
            try ask("register", "DELETE", "/register/\(encoded)", status: 200)
        }
        let sent = try notify(["users": [.string(Self.player)], "title": "Hello"])
        #expect(sent["devices"] == 1)
    }

    @Test("an erased user leaves no part in any queue")
    func erased() throws {
        _ = try registerAll()
        _ = try notify([
            "users": [.string(Self.player)], "title": "Hello",
            "send_after": 1_795_266_000,
        ])
        #expect(try queues().count == 3)
        try ask("users", "DELETE", "/api/users/\(Self.player)", status: 200)
        #expect(try queues() == [:])
        for (name, bytes) in installation.state.files() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("send/1") && !text.contains("APA91b"), "\(name)")
        }
    }
}
