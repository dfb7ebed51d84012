import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// A phone that two users have.
@Suite struct SharedPhoneTests {
    private func world() throws -> World {
        let world = try World()
        for player in Int64(1)...2 { try world.register(token(1), of: player) }
        return world
    }

    @Test("a phone of two users gets a message to both once, though one of them is muted")
    func once() throws {
        let world = try world()
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("2") { $0.preferences.mutedUntil = end }
        let id = try world.sent(["users": ["1", "2"], "title": "Hello"])
        try world.run("deliver")
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.acceptedIDs().count == 1)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(try world.report(id)["state"] == "done")
    }

    @Test("on a phone of two users an older message does not follow the other's newer one")
    func overtaken() throws {
        let world = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let first = try world.sent(["users": ["1"], "title": "Old", "collapse_id": "x"])
        try world.run("deliver")
        _ = try world.sent(["users": ["2"], "title": "New", "collapse_id": "x"])
        try world.run("deliver")
        try world.advance(seconds: 2400)
        try world.run("deliver")
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "an older message does not follow a newer one to a phone that was registered anew in between"
    )
    func registeredAnew() throws {
        let world = try World()
        try world.register(token(1), of: 1)
        try replaceToken(world)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let first = try world.sent(["users": ["1"], "title": "Old", "subject": "x"])
        try world.run("deliver")
        #expect(try world.ask("register", "DELETE", "/register/\(token(2))", by: 1).status == 200)
        try world.advance(seconds: 1)
        try world.register(token(2), of: 1)
        _ = try world.sent(["users": ["1"], "title": "New", "subject": "x"])
        try world.run("deliver")
        try world.advance(seconds: 2400)
        try world.run("deliver")
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    /// Gives a player's phone its next token.
    private func replaceToken(
        _ world: World, of player: String = "1", _ old: Int = 1, by new: Int = 2
    ) throws {
        let variables = world
        variables.variables["JWT_SECRET"] = jwtSecret
        let replacement: JSONValue = [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer(player))],
            "body": [
                "token": .string(token(new)), "tokenType": "device",
                "previousToken": .string(token(old)),
            ],
        ]
        let ended = try variables.start("push-register", replacement).end()
        #expect(try Answer(event: ended.stdout).status == 200)
    }

    @Test("a message to a token that nobody had goes to who registers it, not to what replaced it")
    func tokenRegisteredAgain() throws {
        let world = try World()
        try world.register(token(1), of: 1)
        try replaceToken(world)
        let id = try world.sent(["devices": [.string(token(1))], "title": "Hello"])
        try world.register(token(1), of: 1)
        try world.run("deliver")
        #expect(try world.simulator.pushes().map { $0["token"] } == [.string(token(1))])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a damaged document of one player of a phone hinders nothing that the other one does",
        arguments: ["replaces", "leaves", "is erased"])
    func damagedOther(what: String) throws {
        let world = try world()
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        try world.change("1") { $0.devices[0].shownTurns = 2 }
        let name = try #require(world.state.files().keys.first { $0.hasSuffix("/2.json") })
        try world.state.write("{", to: name)
        switch what {
        case "replaces":
            try replaceToken(world)
            let devices = try world.document(1)["devices"]?.array
            #expect(devices?.map { $0.object?["token"] } == [.string(token(2))])
        case "leaves":
            let path = "/register/\(token(1))"
            #expect(try world.ask("register", "DELETE", path, by: 1).status == 200)
        default:
            let event = world.message("DELETE", "/api/users/1")
            let answer = try Answer(event: world.startBackend("users", event).end().stdout)
            #expect(answer.status == 200, "\(answer.body)")
            #expect(answer.json?.object?["erased"]?.object?["devices"] == 1)
        }
        // Whoever registers the token next corrects the number on the icon.
        try world.run("check-turns")
        try world.register(token(1), of: 3)
        try world.run("check-turns")
        #expect(try world.document(3)["devices"]?.array?.first?.object?["shown_turns"] == 2)
    }

    @Test("a damaged document of one player does not stop the count of a phone", arguments: [1, 2])
    func countedBeside(damaged: Int) throws {
        let world = try world()
        let name = try #require(
            world.state.files().keys.first { $0.hasSuffix("/\(damaged).json") })
        try world.state.write("{", to: name)
        let event = world.message(
            "POST", "/api/notify/count", ["devices": [.string(token(1))]])
        let answer = try Answer(event: world.startBackend("notify", event).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.json?.object?["devices"] == 1, "\(answer.body)")
    }

    /// Lets both players know their phone by its second token, each by another id.
    private func giveTwoIDs(_ world: World) throws {
        try replaceToken(world)
        #expect(try world.ask("register", "DELETE", "/register/\(token(1))", by: 2).status == 200)
        try world.register(token(2), of: 2)
        let ids = try [1, 2].map {
            try world.document($0)["devices"]?.array?.first?.object?["id"]
        }
        #expect(ids[0] != ids[1])
    }

    @Test("two phones under one id: a push waits for the newer one to its own phone")
    func twoPhonesOfOneID() throws {
        let world = try world()
        try replaceToken(world)
        // Player 1 has the second token, player 2 the first, both under the first one's id.
        let first = try world.sent(["users": ["2"], "title": "Old", "subject": "x"])
        _ = try world.sent(["users": ["1", "2"], "title": "New", "subject": "x"])
        try world.simulator.perform([
            "do": "token", "token": .string(token(2)), "is": "gone",
            "since": .integer(world.now + 1_000_000_000),
        ])
        for _ in 0..<2 {
            try world.run("deliver")
            try world.advance(seconds: 2400)
        }
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "two phones under one id: a held message comes though the other phone has yet to get it",
        arguments: [1, 2], [false, true])
    func heldOfTwoPhones(replacing: Int64, isAlone: Bool) throws {
        let world = try world()
        try replaceToken(world, of: String(replacing))
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("2") { $0.preferences.mutedUntil = end }
        if !isAlone {
            _ = try world.sent(["users": ["2"], "title": "Other"])
            try world.run("deliver")
        }
        let id = try world.sent(["users": ["1", "2"], "title": "Hello"])
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "retry_after": 1800, "count": 1,
        ])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 1, "waiting": 1])
        try world.advance(seconds: 60)
        let unmuted = try world.ask("preferences", "PUT", "/api/preferences", by: 2, [:])
        #expect(unmuted.status == 200)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 1, "waiting": 1])
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 2])
        #expect(try world.acceptedIDs().count == 2)
        #expect(world.spooled().isEmpty)
    }

    @Test("a push waits for a newer one that goes to the phone for another user instead")
    func alternateUser() throws {
        for _ in 0..<10 {
            let world = try World()
            for player in Int64(1)...2 { try world.register(token(1), of: player) }
            try replaceToken(world, of: "2")
            for player in Int64(1)...3 where player != 2 {
                try world.register(token(2), of: player)
            }
            _ = try world.sent([
                "users": ["1", "2", "3"], "devices": [.string(token(9))], "title": "Old",
                "collapse_id": "x",
            ])
            _ = try world.sent(["users": ["2", "3"], "title": "New", "collapse_id": "x"])
            try replaceToken(world, of: "3", 2, by: 3)
            try world.run("deliver")
            let shown = try world.simulator.pushes().last {
                $0["accepted"] == true && $0["token"] == .string(token(3))
            }
            #expect(shown?["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"] == "New")
        }
    }

    @Test("an index that cannot be read holds up nobody's messages, held or not")
    func damagedIndex() throws {
        let world = try world()
        try giveTwoIDs(world)
        let index = world.state.files().keys.filter { $0.hasPrefix("tokens/") }
        for name in index { try world.state.write("{", to: name) }
        let end = Timestamp(milliseconds: world.now) + .minutes(30)
        try world.change("1") { $0.preferences.mutedUntil = end }
        for number in 1...2 {
            _ = try world.sent([
                "users": ["1"], "title": .string("Held \(number)"), "subject": "x",
            ])
            try world.run("deliver")
        }
        _ = try world.sent(["users": ["1"], "title": "Other", "subject": "y"])
        try world.run("deliver")
        for _ in 0..<2 {
            try world.advance(seconds: 2400)
            try world.run("deliver")
        }
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "an older message does not follow another user's newer one, who knows the phone by another id",
        arguments: ["1", "2"], [true, false])
    func otherID(older: String, isHeld: Bool) throws {
        let world = try world()
        try giveTwoIDs(world)
        if isHeld {
            try world.change(older) {
                $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(30)
            }
        } else {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        }
        let first = try world.sent(["users": [.string(older)], "title": "Old", "subject": "x"])
        try world.run("deliver")
        try world.advance(seconds: 60)
        _ = try world.sent([
            "users": [.string(older == "1" ? "2" : "1")], "title": "New", "subject": "x",
        ])
        try world.run("deliver")
        for _ in 0..<2 {
            try world.advance(seconds: 2400)
            try world.run("deliver")
        }
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    /// A message to both users that waits for its moment, which ``goOn(_:)`` lets come.
    private func scheduled(_ world: World, _ audience: JSONObject) throws -> String {
        var body: JSONObject = [
            "title": "Hello", "kind": "chat", "send_after": .integer(world.now / 1000 + 1200),
        ]
        for member in audience.members { body[member.name] = member.value }
        return try world.sent(body)
    }

    private func goOn(_ world: World) throws {
        try world.advance(seconds: 2400)
        try world.run("deliver")
    }

    /// How a message to both users may be addressed.
    private static let audiences: [JSONObject] = [
        ["users": ["1", "2"]], ["devices": [.string(token(1))]],
    ]

    /// The reason why a user does not get the message.
    enum Change: CaseIterable, Sendable {
        case unregistered, unwanted, muted
    }

    private func apply(_ change: Change, to player: Int64, _ world: World) throws {
        switch change {
        case .unregistered:
            let answer = try world.ask(
                "register", "DELETE", "/register/\(token(1))", by: player)
            #expect(answer.status == 200)
        case .unwanted: try world.change("\(player)") { $0.preferences.kinds = ["chat": false] }
        case .muted:
            let end = Timestamp(milliseconds: world.now) + .hours(1 + player)
            try world.change("\(player)") { $0.preferences.mutedUntil = end }
        }
    }

    @Test(
        "a message to two users of a phone goes to it while one of them has it and wants it",
        arguments: Change.allCases, Int64(1)...2)
    func oneOfTwo(change: Change, player: Int64) throws {
        for audience in Self.audiences {
            let world = try world()
            let id = try scheduled(world, audience)
            #expect(try world.report(id)["devices"]?.array?.count == 1)
            try apply(change, to: player, world)
            try goOn(world)
            #expect(try world.report(id)["counts"] == ["accepted": 1])
            #expect(try world.acceptedIDs().count == 1)
            let users = try world.report(id)["devices"]?.array?.map { $0.object?["user"] }
            #expect(users == [.string("\(3 - player)")])
        }
    }

    @Test("a message that was put off is still for both users of a phone")
    func putOff() throws {
        let world = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["1", "2"], "title": "Hello"])
        try world.run("deliver")
        try apply(.unregistered, to: 1, world)
        try goOn(world)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a message to two users of a phone ends where neither has it or wants it")
    func neither() throws {
        let world = try world()
        let id = try scheduled(world, Self.audiences[0])
        try apply(.unregistered, to: 1, world)
        try apply(.unwanted, to: 2, world)
        try goOn(world)
        let device = try world.report(id)["devices"]?.array?.first?.object
        #expect(device?["state"] == "superseded" && device?["reason"] == "unwanted")
        #expect(device?["user"] == "2")
        #expect(try world.acceptedIDs().isEmpty)
    }

    @Test("where both users of a phone are muted a message waits for the first of them")
    func bothMuted() throws {
        let world = try world()
        let id = try scheduled(world, Self.audiences[0])
        for player in Int64(1)...2 { try apply(.muted, to: player, world) }
        try goOn(world)
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 7200 - 2400)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("a message to a token goes to the one of its users who wants it", arguments: Int64(1)...2)
    func tokenOfTwo(player: Int64) throws {
        for change in [Change.unwanted, .muted] {
            let world = try world()
            try apply(change, to: player, world)
            let id = try world.sent(["devices": [.string(token(1))], "title": "Hi", "kind": "chat"])
            try world.run("deliver")
            #expect(try world.report(id)["counts"] == ["accepted": 1])
        }
    }

    @Test("erasing one of two users leaves the message to the other")
    func erased() throws {
        let world = try world()
        let id = try scheduled(world, Self.audiences[0])
        let answer = try Answer(
            event: world.startBackend("users", world.message("DELETE", "/api/users/1")).end().stdout
        )
        #expect(answer.status == 200, "\(answer.body)")
        try goOn(world)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
