import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// A player with an iPhone, an Android phone and a browser: what check-turns puts into each queue.
@Suite struct PlatformTests {
    private static let android = "an-android-token:of-fcm"
    private static let browser = browserToken(1, at: "https://fcm.googleapis.com")

    private func world() throws -> World {
        let world = try World()
        world.variables["FCM_SERVICE_ACCOUNT"] = "/nowhere/account.json"
        world.variables["VAPID_SUBJECT"] = "mailto:push@example.org"
        try world.register(token(1), of: 1)
        for body in [
            ["platform": "android", "device_token": .string(Self.android)],
            [
                "platform": "web",
                "subscription": browserSubscription(1, at: "https://fcm.googleapis.com"),
            ],
        ] as [JSONObject] {
            var body = body
            body["user_id"] = "1"
            let answer = try world.ask("register", "POST", "/register", by: 1, .object(body))
            #expect(answer.status == 200, "\(answer.body)")
        }
        try world.beginGame()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        #expect(world.spooled().isEmpty)
        return world
    }

    /// The first line and the device of each service's only part.
    private func parts(_ world: World) throws -> [String: (first: JSONObject, device: JSONValue?)] {
        var parts: [String: (first: JSONObject, device: JSONValue?)] = [:]
        for name in world.spooled() {
            let lines = try (world.state.read(name) ?? []).split(separator: UInt8(ascii: "\n"))
                .compactMap { try JSON.parse(Array($0)).object }
            #expect(lines.count == 2, "\(name)")
            let service = String(name.split(separator: "/")[1])
            #expect(parts[service] == nil)
            parts[service] = (lines.first ?? [:], lines.last?["device"])
        }
        return parts
    }

    @Test("a turn is told to each of them, and leads to the game")
    func notice() throws {
        let world = try world()
        try world.move()
        try world.advance(seconds: 31)
        #expect(try world.run("check-turns")["notices"] == 1)
        let parts = try parts(world)
        #expect(parts["apns"]?.device == .string(token(1)))
        #expect(parts["fcm"]?.device == .string(Self.android))
        #expect(parts["web"]?.device == .string(Self.browser))
        #expect(Set(parts.values.compactMap { $0.first["id"]?.string }).count == 1)
        for (service, part) in parts {
            let push = part.first["push"]?.object
            #expect(push?["collapse_id"] == "turn-1", "\(service)")
            let address = push?["payload"]?.object?["web_url"]?.string
            #expect(address?.hasSuffix("/game/7") == true, "\(service)")
        }
    }

    @Test("the number alone is not sent to a browser")
    func correction() throws {
        let world = try world()
        var variables = Variables()
        for (name, value) in world.environment { variables.offer(name, value) }
        let state = try State(variables)
        let player = try #require(PlayerID(number: 1))
        let tokens = try [
            #require(DeviceToken(token(1))), #require(DeviceToken(Self.android, on: .android)),
            #require(DeviceToken(Self.browser, on: .web)),
        ]
        try state.users[player].update { $0.recordShown(3, on: tokens) }
        try state.forgetJudgement(of: player)
        try world.advance(seconds: 31)
        try world.run("check-turns")
        let parts = try parts(world)
        #expect(parts.keys.sorted() == ["apns", "fcm"])
        #expect(parts.values.allSatisfy { $0.first["cargo"] == "turn_badge" })
    }
}
