import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Turn notices are right when they are sent, and turns count as notified when a device has accepted them.
@Suite struct TurnSendingTests {
    /// Player 1 has device 1 and so many games; it is player 2's turn in all of them.
    private func world(games: Int64 = 2) throws -> World {
        let world = try World()
        for game in 1...games { try world.beginGame(game) }
        try world.register(token(1), of: 1)
        try world.cycle()
        return world
    }

    /// Looks at everybody, and sends nothing.
    private func look(_ world: World, after seconds: Int64 = 31) throws {
        try world.advance(seconds: seconds)
        try world.run("check-turns")
    }

    /// Delivers the due notifications, and those that these deliveries leave.
    private func deliverAll(_ world: World) throws {
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 31)
        }
    }

    private func accepted(_ world: World) throws -> [JSONObject] {
        try world.simulator.pushes().filter { $0["accepted"] == true }
    }

    private func bodies(_ world: World) throws -> [JSONValue?] {
        try accepted(world).compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["body"]
        }
    }

    private func badges(_ world: World) throws -> [JSONValue?] {
        try accepted(world).map { $0["payload"]?.object?["aps"]?.object?["badge"] }
    }

    @Test func aGameThatWasAnsweredDropsOutOfAQueuedNotice() throws {
        let world = try world()
        try world.move(1)
        try world.move(2)
        try look(world)
        try world.move(1)
        try look(world)
        try world.run("deliver")
        #expect(try bodies(world) == ["It's your turn in: Game 2"])
        #expect(try badges(world) == [1])
    }

    @Test(
        "a turn that came while its kind was off is never sent, not even with another one",
        arguments: [false, true])
    func unwantedTurns(isQueued: Bool) throws {
        let world = try world()
        func want(_ isWanted: Bool) throws {
            let answer = try world.ask(
                "preferences", "PUT", "/api/preferences", by: 1,
                ["kinds": ["turn": .bool(isWanted)]])
            #expect(answer.status == 200, "\(answer.body)")
        }
        if !isQueued { try want(false) }
        try world.move(1)
        try look(world)
        if isQueued { try want(false) }
        try world.run("deliver")
        try world.cycle()
        try want(true)
        try world.cycle()
        try world.move(2)
        try world.cycle()
        #expect(try bodies(world) == ["It's your turn in: Game 2"])
        #expect(try badges(world) == [2])
    }

    @Test func aNoticeAboutNothingIsNotSent() throws {
        let world = try world()
        try world.move(1)
        try look(world)
        try world.move(1)
        try look(world)
        try world.run("deliver")
        #expect(try accepted(world).isEmpty)
        #expect(world.spooled().isEmpty)
        let outcomes = try world.receipts().compactMap { $0["outcome"] }
        let reasons = try world.receipts().compactMap { $0["reason"] }
        #expect(outcomes == ["superseded"] && reasons == ["answered"])
    }

    @Test("the notice of a game that was put off does not replace a newer one")
    func older() throws {
        let world = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.move(1)
        try world.cycle()
        try world.move(1)
        try world.move(2)
        try world.cycle()
        try world.advance(seconds: 1200)
        try world.run("deliver")
        #expect(try bodies(world) == ["It's your turn in: Game 2"])
        #expect(world.spooled().isEmpty)
    }

    @Test("a newer notice includes turns that an older one could not deliver")
    func untoldTogether() throws {
        let world = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.move(1)
        try world.cycle()
        try world.move(2)
        try world.cycle()
        try world.advance(seconds: 1200)
        try world.run("deliver")
        #expect(try bodies(world) == ["It's your turn in 2 games"])
        #expect(world.spooled().isEmpty)
    }

    @Test("two notices that go out at once tell of each turn once")
    func bothAtOnce() throws {
        let world = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.move(1)
        try world.cycle()
        try world.move(2)
        try look(world, after: 1900)
        try deliverAll(world)
        #expect(try bodies(world) == ["It's your turn in: Game 1", "It's your turn in: Game 2"])
        #expect(world.spooled().isEmpty)
    }

    @Test("an older notice takes no turn from a newer one that is for more devices")
    func moreDevices() throws {
        let world = try world()
        try world.register(token(2), of: 1)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(2)), "count": 1,
        ])
        try world.move(1)
        try world.cycle()
        try world.move(2)
        try look(world, after: 1900)
        try deliverAll(world)
        for number in 1...2 {
            let told = try accepted(world).filter { $0["token"] == .string(token(number)) }
                .compactMap {
                    $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["body"]?.string
                }
            #expect(told.last == "It's your turn in: Game 2")
        }
    }

    @Test("a correction that one phone waits for does not keep another one's")
    func correctionOfEach() throws {
        let world = try world()
        try world.register(token(2), of: 1)
        try world.move(1)
        try world.cycle()
        try world.move(1)
        try look(world)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(1)), "count": 1,
        ])
        try world.run("deliver")
        try world.move(2)
        try look(world)
        try world.move(2)
        try world.run("deliver")
        for _ in 0..<5 {
            try world.advance(seconds: 1000)
            try world.run("check-turns")
            try world.run("deliver")
        }
        for number in 1...2 {
            let last = try accepted(world).last { $0["token"] == .string(token(number)) }
            #expect(last?["payload"]?.object?["aps"]?.object?["badge"] == 0)
        }
    }

    @Test("each phone gets the correction of its badge")
    func correctionPutOff() throws {
        let world = try world()
        try world.register(token(2), of: 1)
        try world.move(1)
        try world.move(2)
        try world.cycle()
        try world.move(1)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(1)), "count": 1,
        ])
        try world.cycle()
        try world.advance(seconds: 1900)
        try world.run("deliver")
        for number in 1...2 {
            let last = try accepted(world).last { $0["token"] == .string(token(number)) }
            #expect(last?["payload"]?.object?["aps"]?.object?["badge"] == 1)
        }
    }

    @Test("a turn that no device accepted is sent when one registers", arguments: ["gone", "bad"])
    func untold(state: String) throws {
        let world = try world()
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": .string(state),
            "since": .integer(world.now + 60_000),
        ])
        try world.move(1)
        try world.cycle()
        #expect(try accepted(world).isEmpty)
        try world.cycle()
        try world.register(token(2), of: 1)
        try world.cycle()
        try world.cycle()
        #expect(try accepted(world).map { $0["token"] } == [.string(token(2))])
        #expect(try bodies(world) == ["It's your turn in: Game 1"])
    }

    @Test("a new phone does not wait until the old one can be reached")
    func newPhone() throws {
        let world = try world()
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(1)), "count": 9,
        ])
        try world.move(1)
        try world.cycle()
        let answer = try world.ask("register", "DELETE", "/register/\(token(1))", by: 1)
        #expect(answer.status == 200)
        try world.register(token(2), of: 1)
        try world.cycle()
        #expect(try accepted(world).map { $0["token"] } == [.string(token(2))])
        try world.advance(seconds: 7200)
        try world.run("deliver")
        #expect(try accepted(world).count == 1)
        #expect(world.spooled().isEmpty)
    }

    @Test("a device that refuses every push does not get one with each look")
    func refused() throws {
        let world = try world()
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "other-topic",
        ])
        try world.move(1)
        for _ in 0..<20 { try world.cycle() }
        let asked = try world.simulator.pushes().count
        #expect((2...6).contains(asked), "in ten minutes: \(asked)")
    }

    @Test func aTurnIsToldToADeviceThatCameAfterThePhoneWasUnregistered() throws {
        let world = try world()
        try world.move(1)
        try look(world)
        let answer = try world.ask("register", "DELETE", "/register/\(token(1))", by: 1)
        #expect(answer.status == 200)
        try world.run("deliver")
        #expect(try accepted(world).isEmpty)
        try world.register(token(2), of: 1)
        try world.cycle()
        #expect(try accepted(world).map { $0["token"] } == [.string(token(2))])
    }

    @Test("a turn that an undo brought back is sent again, and one after a pause is not")
    func undo() throws {
        let world = try world(games: 1)
        try world.move(1)
        try world.cycle()
        try world.simulator.perform(["do": "undo", "game": 1])
        try world.cycle()
        try world.move(1)
        try world.cycle()
        #expect(try bodies(world).count == 2)
        try world.simulator.perform(["do": "pause", "game": 1, "kind": "weekend"])
        try world.cycle()
        try world.simulator.perform(["do": "resume", "game": 1])
        try world.cycle()
        #expect(try bodies(world).count == 2)
    }

    @Test("so is one that was seen to be gone while the player had no device, to the next one")
    func undoWithoutADevice() throws {
        let world = try world(games: 1)
        try world.move(1)
        try world.cycle()
        #expect(try bodies(world).count == 1)
        try world.change("1") { $0.devices = [] }
        try world.simulator.perform(["do": "undo", "game": 1])
        try world.cycle()
        try world.move(1)
        try world.register(token(3), of: 1)
        try world.cycle()
        #expect(try bodies(world).count == 2)
    }

    @Test("turns that came in quiet hours which began meanwhile are sent after them")
    func quiet() throws {
        let world = try world()
        try world.move(1)
        try look(world)
        let end = Timestamp(milliseconds: world.now) + .hours(2)
        try world.change("1") { $0.preferences.mutedUntil = end }
        try world.run("deliver")
        try world.cycle()
        #expect(try accepted(world).isEmpty)
        try world.advance(seconds: 7200)
        try world.cycle()
        #expect(try bodies(world) == ["It's your turn in: Game 1"])
    }

    @Test("the badge goes down silently, at most once in 15 minutes")
    func badge() throws {
        let world = try world(games: 4)
        for game in Int64(1)...4 { try world.move(game) }
        try world.cycle()
        try world.move(1)
        try world.cycle()
        #expect(try badges(world) == [4, 3])
        let correction = try #require(try accepted(world).last)
        #expect(correction["payload"] == ["aps": ["badge": 3]])
        #expect(correction["headers"]?.object?["apns-priority"] == "5")
        try world.move(2)
        try world.cycle()
        try world.move(3)
        try world.cycle()
        #expect(try badges(world) == [4, 3])
        try world.advance(seconds: 900)
        try world.cycle()
        #expect(try badges(world) == [4, 3, 1])
        for _ in 0..<3 { try world.cycle() }
        #expect(try badges(world) == [4, 3, 1])
    }

    @Test("a pause of all games takes the number down, and their end silently brings it back")
    func pause() throws {
        let world = try world(games: 3)
        for game in Int64(1)...3 { try world.move(game) }
        try world.cycle()
        #expect(try badges(world) == [3])
        for game in Int64(1)...3 {
            try world.simulator.perform([
                "do": "pause", "game": .integer(game), "kind": "weekend",
            ])
        }
        try world.cycle()
        #expect(try badges(world) == [3, 0])
        try world.advance(seconds: 2 * 86_400)
        for game in Int64(1)...3 {
            try world.simulator.perform(["do": "resume", "game": .integer(game)])
        }
        for _ in 0..<3 { try world.cycle() }
        #expect(try badges(world) == [3, 0, 3])
        let last = try #require(try accepted(world).last)
        #expect(last["payload"] == ["aps": ["badge": 3]])
        #expect(last["headers"]?.object?["apns-priority"] == "5")
        #expect(try bodies(world).count == 1)
    }

    @Test("the number goes up only for games that were in a notice", arguments: [false, true])
    func noNumberForUntold(isOff: Bool) throws {
        let world = try world(games: 3)
        try world.move(1)
        try world.cycle()
        if isOff {
            try world.change("1") { $0.preferences.kinds = ["turn": false] }
        } else {
            let end = Timestamp(milliseconds: world.now) + .hours(8)
            try world.change("1") { $0.preferences.mutedUntil = end }
        }
        try world.move(2)
        for _ in 0..<2 { try world.cycle() }
        try world.advance(seconds: 900)
        try world.cycle()
        #expect(try badges(world) == [1])
    }

    @Test("a number does not go up before the notice that was put off", arguments: [1, 2])
    func noNumberBeforeNotice(phones: Int) throws {
        let world = try world(games: 3)
        for phone in 1...phones { try world.register(token(phone), of: 1) }
        try world.move(1)
        try world.cycle()
        let count = try accepted(world).count
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(1)), "count": 1,
        ])
        try world.move(2)
        try world.cycle()
        for _ in 0..<2 { try look(world) }
        try world.advance(seconds: 1800)
        for _ in 0..<2 { try world.run("deliver") }
        let pushes = try accepted(world).dropFirst(count)
        #expect(pushes.count == phones)
        #expect(pushes.allSatisfy { $0["payload"]?.object?["game_id"] != nil })
    }

    @Test("a phone with two accounts shows the sum of both")
    func sum() throws {
        let world = try world(games: 3)
        try world.register(token(1), of: 2)
        // Player 2 has two more, against player 3.
        for game in Int64(4)...5 {
            try world.beginGame(game, ["black": 3, "white": 2, "to_move": 3])
        }
        try world.cycle()
        #expect(try badges(world) == [3])
        try world.move(1)
        try world.cycle()
        // Now 1 for player 1 and 2 for player 2.
        #expect(try badges(world).last == 3)
        try world.move(4)
        try world.cycle()
        #expect(try badges(world).last == 4)
    }

    @Test("a player who wants no notices of turns adds none of them to another one's number")
    func sumWithoutUnwanted() throws {
        let world = try world(games: 3)
        try world.register(token(1), of: 2)
        try world.change("2") { $0.preferences.kinds[Preferences.turn] = .bool(false) }
        try world.cycle()
        #expect(try badges(world) == [])
        // Now 1 for player 1 and 2 for player 2.
        try world.move(1)
        try world.cycle()
        #expect(try badges(world) == [1])
        try world.advance(seconds: 900)
        try world.cycle()
        #expect(try badges(world) == [1])
    }

    /// How a user loses a phone that another one has as well.
    enum Leave: CaseIterable, Sendable {
        case unregistered, claimed, erased
    }

    @Test("the sum on a phone goes down when one of its users leaves it", arguments: Leave.allCases)
    func sumOfOneLess(leave: Leave) throws {
        let world = try world(games: 3)
        try world.register(token(1), of: 2)
        for game in Int64(4)...5 {
            try world.beginGame(game, ["black": 3, "white": 2, "to_move": 3])
        }
        try world.cycle()
        try world.move(1)
        try world.cycle()
        try world.move(4)
        try world.cycle()
        // 1 for player 1, and 2 and 1 for player 2.
        #expect(try badges(world).last == 4)
        let count = try accepted(world).count
        switch leave {
        case .unregistered:
            let answer = try world.ask("register", "DELETE", "/register/\(token(1))", by: 2)
            #expect(answer.status == 200)
        case .claimed: try world.claim(1, for: "1")
        case .erased:
            let answer = try Answer(
                event: world.startBackend("users", world.message("DELETE", "/api/users/2")).end()
                    .stdout)
            #expect(answer.status == 200, "\(answer.body)")
        }
        try world.cycle()
        let corrections = try accepted(world).dropFirst(count)
        #expect(corrections.map { $0["payload"] } == [["aps": ["badge": 1]]])
        for _ in 0..<3 { try world.cycle() }
        #expect(try accepted(world).count == count + 1)
    }

    @Test("games that another user's push has counted leave the number when they are answered")
    func sumOfOthersPush() throws {
        let world = try World()
        try world.beginGame(1, ["black": 1, "white": 3, "to_move": 3])
        try world.beginGame(4, ["black": 3, "white": 2, "to_move": 3])
        for player in Int64(1)...2 { try world.register(token(1), of: player) }
        // Player 1 is not notified for now, so only player 2's notice counts player 1's game.
        try world.change("1") { $0.preferences.mutedUntil = .latest }
        try world.cycle()
        try world.move(1)
        try world.cycle()
        try world.move(4)
        try world.cycle()
        #expect(try badges(world) == [2])
        try world.move(1)
        try world.cycle()
        #expect(try badges(world) == [2, 1])
        #expect(try bodies(world).count == 1)
    }

    @Test("a notice that was damaged takes no turn with it")
    func damaged() throws {
        let world = try world()
        try world.move(1)
        try look(world)
        let file = try #require(world.spooled().first)
        try world.state.write(Array("nonsense".utf8), to: file)
        try world.run("deliver")
        try world.move(2)
        try world.cycle()
        #expect(try bodies(world) == ["It's your turn in 2 games"])
    }

    @Test func aKindThatIsSwitchedOffIsNotToldLater() throws {
        let world = try world()
        try world.change("1") { $0.preferences.kinds = ["turn": false] }
        try world.move(1)
        try world.cycle()
        try world.change("1") { $0.preferences.kinds = [:] }
        try world.move(2)
        try world.cycle()
        #expect(try bodies(world) == ["It's your turn in: Game 2"])
    }
}
