import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Player 1 leaves a phone whose icon shows the player's waiting game. Whatever happens meanwhile, player 3, who
/// has the phone too, corrects the icon in the next cycle.
///
/// Not tested: a power failure.
@Suite struct HandOverTests {
    /// How player 1 leaves the phone.
    enum Route: CaseIterable, Sendable {
        case register, devices, invalidate, replacement, claim, erasure
    }

    /// Player 1's game waits, and the icon of the phone that players 1 and 3 share shows it.
    private func shown() throws -> World {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        try world.simulator.perform(["do": "player", "player": 3, "name": "C"])
        for player in [1, 3] as [Int64] { try world.register(token(1), of: player) }
        try world.beginGame()
        try world.cycle()
        try world.move()
        try world.cycle()
        #expect(try badge(world) == 1)
        return world
    }

    private func request(_ route: Route, _ world: World) throws -> (String, JSONValue) {
        func asUser(
            _ user: String, _ method: String, _ path: String, _ body: JSONObject? = nil
        ) -> JSONValue {
            var event: JSONObject = [
                "method": .string(method), "path": .string(path),
                "headers": ["Authorization": .string(bearer(user))],
            ]
            event["body"] = body.map { .object($0) }
            return .object(event)
        }
        let phone = JSONValue.string(token(1))
        return switch route {
        case .register:
            ("register", try world.event("DELETE", "/register/\(token(1))", by: 1))
        case .devices:
            ("devices-unregister", asUser("1", "DELETE", "/api/devices/\(token(1))"))
        case .invalidate:
            (
                "push-invalidate",
                asUser("1", "DELETE", "/api/push/invalidate", ["token": phone])
            )
        case .replacement:
            (
                "push-register",
                asUser(
                    "1", "POST", "/api/push/register",
                    [
                        "token": .string(token(2)), "tokenType": "device", "previousToken": phone,
                    ])
            )
        case .claim:
            (
                "devices-register",
                asUser(
                    "3", "POST", "/api/devices/register", ["deviceToken": phone, "platform": "ios"])
            )
        case .erasure: ("users", world.message("DELETE", "/api/users/1"))
        }
    }

    private func status(_ request: (String, JSONValue), _ world: World) throws -> Int {
        try Answer(event: world.start(request.0, request.1).end().stdout).status
    }

    /// The number that the last accepted push showed on the phone.
    private func badge(_ world: World, of phone: String = token(1)) throws -> Int64? {
        let last = try world.simulator.pushes().last {
            $0["accepted"] == true && $0["token"] == .string(phone)
        }
        return last?["payload"]?.object?["aps"]?.object?["badge"]?.integer
    }

    private func expectCorrection(
        _ world: World, of phone: String = token(1), _ comment: Comment
    ) throws {
        try world.cycle()
        #expect(try badge(world, of: phone) == 0, comment)
        let count = try world.acceptedIDs().count
        for _ in 0..<2 { try world.cycle() }
        #expect(try world.acceptedIDs().count == count, "one correction: \(comment)")
        #expect(handOvers(world) == [], comment)
    }

    private func handOvers(_ world: World) -> [String] {
        world.state.files().keys.filter { $0.hasPrefix("handovers/") && $0.hasSuffix(".json") }
    }

    private func file(of player: Int64, in world: World) throws -> String {
        try #require(
            world.state.files().keys.first {
                $0.hasPrefix("users/") && $0.hasSuffix("/\(player).json")
            })
    }

    @Test(
        "the number is corrected though the other player's document was locked",
        arguments: Route.allCases)
    func locked(route: Route) throws {
        let world = try shown()
        let request = try request(route, world)
        let lock = try SharedLock.open(of: file(of: 3, in: world), in: world.state)
        #expect(try lock.tryLock())
        let first = try status(request, world)
        #expect(first == (route == .claim ? 503 : 200), "\(route)")
        lock.unlock()
        // The player who claims the phone needs that document, and asks again.
        if route == .claim { #expect(try status(request, world) == 200) }
        try expectCorrection(world, "\(route)")
    }

    @Test(
        "the number is corrected though the phone has another token by then",
        arguments: Route.allCases.filter { $0 != .claim && $0 != .replacement })
    func rotated(route: Route) throws {
        let world = try shown()
        #expect(try status(request(route, world), world) == 200)
        let body: JSONObject = [
            "token": .string(token(2)), "tokenType": "device",
            "previousToken": .string(token(1)),
        ]
        let event: JSONValue = [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer("3"))], "body": .object(body),
        ]
        #expect(try status(("push-register", event), world) == 200)
        try expectCorrection(world, of: token(2), "\(route)")
    }

    @Test("the number waits while the other player's document is locked or damaged")
    func waiting() throws {
        let world = try shown()
        #expect(try status(request(.register, world), world) == 200)
        let name = try file(of: 3, in: world)
        let lock = try SharedLock.open(of: name, in: world.state)
        #expect(try lock.tryLock())
        try world.cycle()
        #expect(handOvers(world).count == 1)
        lock.unlock()
        let document = try #require(world.state.read(name))
        try world.state.write("{", to: name)
        try world.cycle()
        #expect(handOvers(world).count == 1)
        try world.state.write(document, to: name)
        // The player is looked at again a minute after a failure.
        try world.advance(seconds: 60)
        try expectCorrection(world, "repaired")
    }

    @Test(
        "the number is corrected though the program is killed, and the request is repeated",
        .enabled(if: SystemCalls.isPossible), arguments: Route.allCases)
    func killed(route: Route) throws {
        var kills = 0
        for number in 1...40 {
            let world = try shown()
            let request = try request(route, world)
            let ended = try kill(request.0, JSON.text(request.1), at: "rename", number, world)
            if ended.stdout.contains(#""statusCode":2"#) { break }
            kills += 1
            // An erasure keeps others waiting if it was killed while it wrote a file.
            try world.advance(seconds: 61)
            let again = try status(request, world)
            // Some say that the phone is now another player's alone.
            #expect([200, 403, 404].contains(again), "\(route), rename \(number)")
            try expectCorrection(world, "\(route), rename \(number)")
        }
        #expect(kills > 1, "it was killed \(kills) times")
    }

    @Test(
        "the number is corrected though the cycle is killed",
        .enabled(if: SystemCalls.isPossible), arguments: ["rename", "unlink"])
    func killedCycle(call: String) throws {
        for number in 1...40 {
            let world = try shown()
            #expect(try status(request(.register, world), world) == 200)
            try world.advance(seconds: 31)
            let ended = try kill("check-turns", [], at: call, number, world)
            try world.run("deliver")
            for _ in 0..<2 { try world.cycle() }
            #expect(try badge(world) == 0, "\(call) \(number)")
            #expect(handOvers(world) == [])
            if ended.exitCode == 0 {
                #expect(number > 1)
                break
            }
        }
    }

    /// Runs a program that is killed at its `number`th call of this name.
    private func kill(
        _ program: String, _ input: [UInt8], at call: String, _ number: Int, _ world: World
    ) throws -> EndedProgram {
        try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e",
                "inject=\(call):signal=SIGKILL:when=\(number)", "--", Programs.path(program),
            ], input: input, entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
    }
}
