import Crypto
import JSON
import TestSupport
import Testing
import Turnstone

/// Which players' turns a phone is notified of when its accounts change.
@Suite struct AccountTests {
    /// Players 1 and 2 have a phone with the same token, and play each other.
    private func world() throws -> World {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.register(token(1), of: 2)
        try world.cycle()
        return world
    }

    /// Player 2 moves, then player 1.
    private func moveTwice(_ world: World) throws {
        for _ in 0..<2 {
            try world.move()
            try world.cycle()
        }
    }

    private func ask(
        _ world: World, _ program: String, _ method: String, _ path: String, by player: Int,
        _ body: JSONValue? = nil
    ) throws -> JSONValue? {
        var event: JSONObject = [
            "method": .string(method), "path": .string(path),
            "headers": ["Authorization": .string(bearer("\(player)"))],
        ]
        event["body"] = body
        let answer = try Answer(event: world.start(program, .object(event)).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
        return answer.json
    }

    /// Pushes that show something, and do not only change the badge.
    private func shown(_ world: World) throws -> [JSONObject] {
        try world.simulator.pushes().filter {
            $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
    }

    private func pushed(_ world: World) throws -> [JSONValue?] {
        try shown(world).map { $0["headers"]?.object?["apns-collapse-id"] }
    }

    @Test func aPhoneThatSeveralPlayersRegisteredIsToldOfEachOnesTurns() throws {
        let world = try world()
        let before = try pushed(world).count
        try moveTwice(world)
        #expect(try Array(pushed(world)[before...]) == ["turn-1", "turn-2"])
    }

    @Test func aPhoneThatWasClaimedIsToldOfItsNewAccountsTurnsAlone() throws {
        let world = try world()
        let before = try pushed(world).count
        let body: JSONValue = ["deviceToken": .string(token(1)), "platform": "ios"]
        _ = try ask(world, "devices-register", "POST", "/api/devices/register", by: 2, body)
        try moveTwice(world)
        #expect(try Array(pushed(world)[before...]) == ["turn-2"])
        let list = try ask(world, "devices-list", "GET", "/api/devices", by: 1)
        #expect(list?.object?["data"] == [])
    }

    @Test func aDeviceOfTheApiIsToldOfTurnsOnceItsUserIsAPlayerAndUntilItIsUnregistered() throws {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        try world.beginGame()
        _ = try ask(
            world, "push-register", "POST", "/api/push/register", by: 1,
            ["token": .string(token(1)), "tokenType": "device"])
        try world.cycle()
        try moveTwice(world)
        #expect(try pushed(world) == [])
        #expect(try world.simulator.perform(["do": "report"])["ogs"]?.object?["requests"] == 0)
        try world.register(token(1), of: 1)
        try world.cycle()
        try moveTwice(world)
        let told = try pushed(world)
        #expect(!told.isEmpty && told.allSatisfy { $0 == "turn-1" })
        _ = try ask(
            world, "devices-unregister", "DELETE", "/api/devices/\(token(1))", by: 1)
        try moveTwice(world)
        #expect(try pushed(world) == told)
    }

    @Test("a phone's icon forgets the games of a player whose app has got another token")
    func replacedToken() throws {
        let world = try world()
        try world.cycle()
        func badge() throws -> JSONValue? {
            try world.simulator.pushes().last { $0["token"] == .string(token(1)) }?["payload"]?
                .object?["aps"]?.object?["badge"]
        }
        #expect(try badge() == 1)
        _ = try ask(
            world, "push-register", "POST", "/api/push/register", by: 2,
            [
                "token": .string(token(2)), "tokenType": "device",
                "previousToken": .string(token(1)),
            ])
        try world.cycle()
        try world.advance(seconds: 1000)
        try world.cycle()
        #expect(try badge() == 0)
    }

    @Test func onlyDevicesAreToldOfTurns() throws {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        try world.beginGame()
        try world.register(token(1), of: 1)
        for body: JSONValue in [
            ["token": .string(token(2)), "tokenType": "live_activity", "activityId": "a"],
            [
                "token": .string(token(3)), "tokenType": "live_activity_start",
                "attributesType": "A",
            ],
            ["token": "an-android-token:of-fcm", "tokenType": "device", "platform": "android"],
        ] {
            _ = try ask(world, "push-register", "POST", "/api/push/register", by: 1, body)
        }
        try world.cycle()
        try moveTwice(world)
        #expect(try shown(world).map { $0["token"] } == [.string(token(1))])
    }
}

let jwtSecret = "a secret of the tests of 32 bytes"

/// The `Authorization` of a user.
func bearer(_ user: String) -> String {
    let signed =
        base64URL(JSON.text(["alg": "HS256"])) + "."
        + base64URL(JSON.text(["sub": .string(user), "exp": 4_102_444_800]))
    let signature = base64URL(hmacSHA256(Array(signed.utf8), key: Array(jwtSecret.utf8)))
    return "Bearer \(signed).\(signature)"
}
