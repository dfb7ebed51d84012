import JSON
import TestSupport
import Testing
import Turnstone

/// The number on an icon goes down when a game is answered elsewhere, whatever happened to the push that
/// showed it and to the phone.
@Suite struct IconTests {
    /// Player 1's game waits, and device 1's icon shows it.
    private func shown() throws -> World {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
        return world
    }

    /// The last pushes' tokens and badges, after some cycles.
    private func settle(_ world: World) throws -> JSONObject? {
        for _ in 0..<3 { try world.cycle() }
        return try world.simulator.pushes().last { $0["accepted"] == true }
    }

    private func expectCorrection(_ world: World, on number: Int, _ comment: Comment) throws {
        let last = try settle(world)
        #expect(last?["payload"] == ["aps": ["badge": 0]], comment)
        #expect(last?["token"] == .string(token(number)), comment)
        let count = try world.acceptedIDs().count
        _ = try settle(world)
        #expect(try world.acceptedIDs().count == count, "one correction")
    }

    @Test("a correction whose answer was lost is repeated, also if it did not arrive")
    func lostCorrection() throws {
        let world = try shown()
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "count": 1])
        _ = try world.start("deliver").end()
        let last = try settle(world)
        #expect(last?["payload"] == ["aps": ["badge": 0]])
        let attempts = try world.simulator.pushes().filter {
            $0["payload"] == ["aps": ["badge": 0]]
        }
        #expect(Set(attempts.map { $0["apns_id"]?.string }).count == 1, "\(attempts)")
    }

    @Test("a phone that is registered while a notice is queued gets its number")
    func registeredMeanwhile() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.register(token(2), of: 1)
        // The player is judged anew, and there is nothing to correct yet.
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
        let last = try settle(world)
        #expect(last?["payload"] == ["aps": ["badge": 1]])
        #expect(last?["token"] == .string(token(2)))
        let count = try world.acceptedIDs().count
        _ = try settle(world)
        #expect(try world.acceptedIDs().count == count, "one correction")
    }

    @Test(
        "it is corrected where a push may have arrived, and its game was answered before it could be repeated",
        arguments: [false, true])
    func lostAnswer(isKilled: Bool) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.simulator.perform([
            "do": "apns-fault", "kind": isKilled ? "stall" : "drop", "accepted": true, "count": 1,
        ])
        try world.advance(seconds: 31)
        try world.run("check-turns")
        if isKilled {
            try world.killDrainer(afterPushes: 1)
        } else {
            try world.run("deliver")
        }
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.advance(seconds: 3600)
        try expectCorrection(world, on: 1, "killed: \(isKilled)")
    }

    @Test(
        "a phone that joins shows the games of which its player was notified on another one",
        arguments: [false, true])
    func joining(isShared: Bool) throws {
        let world = try shown()
        if isShared {
            try world.simulator.perform(["do": "player", "player": 3, "name": "C"])
            try world.beginGame(8, ["black": 3])
            try world.register(token(3), of: 3)
            try world.cycle()
            try world.move(8)
            try world.cycle()
        }
        let number = isShared ? 1 : 2
        try world.register(token(number), of: isShared ? 3 : 1)
        let last = try settle(world)
        #expect(last?["payload"] == ["aps": ["badge": .integer(isShared ? 2 : 1)]])
        #expect(last?["token"] == .string(token(number)))
        let count = try world.acceptedIDs().count
        // The app registers at each start.
        try world.register(token(number), of: isShared ? 3 : 1)
        _ = try settle(world)
        #expect(try world.acceptedIDs().count == count, "one correction")
    }

    @Test("a correction that APNs refuses is made again after a quarter of an hour")
    func refused() throws {
        let world = try shown()
        try world.simulator.perform([
            "do": "apns-fault", "status": 400, "reason": "BadPriority", "count": 1,
        ])
        try world.move()
        try world.cycle()
        #expect(try world.receipts().last { $0["outcome"] != nil }?["outcome"] == "refused")
        let count = try world.acceptedIDs().count
        for _ in 0..<3 { try world.cycle() }
        #expect(try world.acceptedIDs().count == count, "too soon")
        try world.advance(seconds: 900)
        try expectCorrection(world, on: 1, "after a refusal")
    }

    @Test("a correction that one of two phones refuses is made again for that phone")
    func refusedByOne() throws {
        let world = try World()
        try world.beginGame()
        for number in 1...2 { try world.register(token(number), of: 1) }
        try world.cycle()
        try world.move()
        try world.cycle()
        #expect(try world.acceptedIDs().count == 2)
        try world.simulator.perform([
            "do": "apns-fault", "status": 400, "reason": "BadPriority", "count": 1,
        ])
        try world.move()
        try world.cycle()
        try world.advance(seconds: 900)
        for _ in 0..<3 { try world.cycle() }
        let shown = try world.simulator.pushes().filter { $0["accepted"] == true }.filter {
            $0["payload"] == ["aps": ["badge": 0]]
        }
        #expect(Set(shown.compactMap { $0["token"]?.string }) == [token(1), token(2)])
        #expect(shown.count == 2)
    }

    @Test("it is corrected by the next player where an unanswered push may have changed it")
    func leftInDoubt() throws {
        let world = try World()
        for player in [1, 3] as [Int64] { try world.register(token(1), of: player) }
        try world.simulator.perform(["do": "player", "player": 3, "name": "C"])
        try world.beginGame()
        try world.cycle()
        try world.move()
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        try world.cycle()
        #expect(try world.ask("register", "DELETE", "/register/\(token(1))", by: 1).status == 200)
        try world.advance(seconds: 1800)
        for _ in 0..<3 { try world.cycle() }
        let last = try world.simulator.pushes().last { $0["accepted"] == true }
        #expect(last?["payload"] == ["aps": ["badge": 0]])
    }

    /// Player 1's game waits, the icon of the phone that players 1 and 3 share shows it, and player 3 has
    /// replaced its token.
    private func shownAndReplaced() throws -> World {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        try world.simulator.perform(["do": "player", "player": 3, "name": "C"])
        for player in [1, 3] as [Int64] { try world.register(token(1), of: player) }
        try world.beginGame(7)
        try world.cycle()
        try world.move(7)
        try world.cycle()
        let shown = try world.simulator.pushes().last?["payload"]?.object?["aps"]?.object?["badge"]
        #expect(shown == 1)
        let replacement: JSONValue = [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer("3"))],
            "body": [
                "token": .string(token(2)), "tokenType": "device",
                "previousToken": .string(token(1)),
            ],
        ]
        #expect(
            try Answer(event: world.start("push-register", replacement).end().stdout).status == 200)
        return world
    }

    @Test("it is corrected for both players of a phone whose token one of them has replaced")
    func replacedByOther() throws {
        let world = try shownAndReplaced()
        try world.register(token(2), of: 1)
        try world.move(7)
        try world.advance(seconds: 900)
        try expectCorrection(world, on: 2, "both have the new token")
    }

    @Test(
        "it is corrected by the player who has replaced the token, if the other one leaves the phone",
        arguments: [false, true])
    func replacedAndLeft(isGone: Bool) throws {
        let world = try shownAndReplaced()
        if isGone {
            try world.simulator.perform([
                "do": "token", "token": .string(token(1)), "is": "gone",
                "since": .integer(world.now + 1_000_000_000),
            ])
            try world.move(7)
            try world.cycle()
            #expect(try world.document(1)["devices"] == [])
        } else {
            #expect(
                try world.ask("register", "DELETE", "/register/\(token(1))", by: 1).status == 200)
        }
        try world.advance(seconds: 900)
        try expectCorrection(world, on: 2, "gone: \(isGone)")
        let index = world.state.files().filter {
            $0.key.hasPrefix("tokens/") && $0.key.hasSuffix(".json")
        }
        let holders = index.values.filter {
            String(decoding: $0, as: UTF8.self).contains(#"["3"]"#)
        }
        #expect(holders.count == 1, "the old token's index is empty")
    }

    @Test("it is corrected under the token that took another one's place")
    func replacedToken() throws {
        let world = try shown()
        try world.claim(2, for: "1", insteadOf: 1)
        try world.move()
        try expectCorrection(world, on: 2, "the new token")
    }

    @Test(
        "it is corrected on an abandoned phone by the next player who registers it",
        arguments: [1, 2])
    func givenUp(next: Int64) throws {
        let world = try shown()
        let answer = try world.ask("register", "DELETE", "/register/\(token(1))", by: 1)
        #expect(answer.status == 200)
        try world.move()
        try world.cycle()
        // It is player 2's turn now. That player gets a notice with its own number.
        if next == 2 { try world.move() }
        try world.register(token(1), of: next)
        try expectCorrection(world, on: 1, "player \(next)")
    }
}
