import JSON
import TestSupport
import Testing
import Turnstone

/// From a move on OGS to the push on the phone, with the built programs.
///
/// Not tested here: the real OGS and the real APNs.
@Suite struct MainJobTests {
    @Test func aMoveMakesExactlyOnePush() throws {
        let world = try World()
        try world.beginGame()
        try world.simulator.perform(["do": "player", "player": 2, "name": "Ann"])
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        let moved = world.now
        try world.cycle()
        try world.cycle()

        let pushes = try world.simulator.pushes()
        #expect(pushes.count == 1)
        let push = try #require(pushes.first)
        #expect(push["token"] == .string(token(1)))
        #expect(push["status"] == 200)
        #expect(
            push["payload"] == [
                "aps": [
                    "alert": [
                        "title": "Your turn in Go!", "subtitle": "Ann · move 21",
                        "body": "It's your turn in: Game 7",
                    ],
                    "badge": 1, "sound": "default",
                ],
                "web_url": .string("\(world.environment["OGS_BASE_URL"] ?? "")/game/7"),
                "app_url": "ogs://game/7",
                "game_id": 7, "action": "open_game", "game_name": "Game 7",
            ])
        let headers = push["headers"]?.object
        #expect(headers?["apns-push-type"] == "alert")
        #expect(headers?["apns-topic"] == "com.example.turnstone")
        #expect(headers?["apns-priority"] == "10")
        #expect(headers?["apns-collapse-id"] == "turn-1")
        let expiration = try #require(headers?["apns-expiration"]?.string.flatMap { Int64($0) })
        #expect(expiration > moved / 1000)
        #expect(try world.simulator.apns()["streams_over_limit"] == 0)
        #expect(try world.simulator.ogs()["violations"] == [])

        let receipts = try world.receipts()
        #expect(receipts.map { $0["outcome"] } == [nil, "accepted", nil])
        #expect(receipts[1]["apns_id"] == push["apns_id"])
        #expect(receipts[1]["repeat"] == nil)
        #expect(try world.document(1)["last_notification_time"] == .integer(world.now - 31_000))
    }

    @Test func everyDeviceGetsItsOwnPushUntilItIsGone() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.register(token(2), of: 1)
        try world.move()
        try world.cycle()
        #expect(
            try Set(world.simulator.pushes().map { $0["token"]?.string }) == [token(1), token(2)])
        #expect(try Set(world.acceptedIDs()).count == 2)

        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "gone",
            "since": .integer(world.now + 1),
        ])
        try world.move()
        try world.move()
        try world.cycle()
        let left = try world.document(1)["devices"]?.array?.compactMap {
            $0.object?["token"]?.string
        }
        #expect(left == [token(2)])
        let answer = try world.ask("users-by-token", "GET", "/users-by-token/\(token(1))", by: 1)
        #expect(answer.json?.object?["user_ids"] == [])
    }

    @Test func aDeviceThatRegisteredAfterItWasGoneStays() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "gone",
            "since": .integer(world.now - 1),
        ])
        try world.move()
        try world.cycle()
        #expect(try world.document(1)["devices"]?.array?.count == 1)
    }

    @Test func aBusyGatewayGetsTheSamePushAgain() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.move()
        try world.cycle()
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.simulator.pushes().count == 1, "it came again too soon")
        try world.advance(seconds: 20 * 60)
        try world.run("deliver")
        let ids = try world.simulator.pushes().compactMap { $0["apns_id"]?.string }
        #expect(ids.count == 2)
        #expect(Set(ids).count == 1)
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("a lost answer repeats the push under its id", arguments: ["drop", "reset"])
    func lostAnswer(kind: String) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform([
            "do": "apns-fault", "kind": .string(kind), "code": 2, "count": 1, "accepted": true,
        ])
        try world.move()
        try world.cycle()
        try world.advance(seconds: 60)
        try world.run("deliver")
        let report = try world.simulator.apns()
        #expect(report["distinct_ids"] == 1)
        #expect(try world.acceptedIDs().count == 2)
    }

    @Test func aRefusedKeyStopsDeliveryAndLosesNothing() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        world.variables["APNS_TEAM_ID"] = "WRONGTEAM1"
        try world.run("deliver", exitCode: 111)
        let health = try world.health()
        #expect(health.status == 503)
        let problem = health.json?.object?["problems"]?.array?.first?.object
        #expect(problem?["reason"] == "InvalidProviderToken")

        // Refusals under other settings say nothing about these.
        world.variables = [:]
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
        let well = try world.health()
        #expect(well.status == 200)
    }

    @Test func aCheckBeforeTheRegistrationEatsNothing() throws {
        let world = try World()
        try world.beginGame()
        try world.move()
        for _ in 0..<2 {
            let answer = try world.ask("check", "GET", "/check/1", by: 1)
            #expect(answer.json?.object?["your_turn_new"] == [7])
        }
        try world.register(token(1), of: 1)
        let answer = try world.ask("check", "GET", "/check/1", by: 1)
        #expect(answer.json?.object?["your_turn_new"] == [7])
        try world.run("deliver")
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
        let again = try world.ask("check", "GET", "/check/1", by: 1)
        #expect(again.json?.object?["your_turn_old"] == [7])
    }

    @Test func oldTurnsBecomeOneSummary() throws {
        let world = try World()
        for game in Int64(1)...5 { try world.beginGame(game, ["to_move": 1]) }
        try world.advance(seconds: 86_400)
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.cycle()
        let pushes = try world.simulator.pushes()
        #expect(pushes.count == 1)
        let aps = pushes.first?["payload"]?.object?["aps"]?.object
        #expect(aps?["alert"]?.object?["body"] == "It's your turn in 5 games")
        #expect(aps?["badge"] == 5)
    }

    @Test func aMoveDuringACheckIsNotLost() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.simulator.perform(["do": "ogs-fault", "kind": "delay", "ms": 400, "count": 1])
        try world.advance(seconds: 31)
        let check = try world.start("check-turns")
        var requests: JSONValue? = 0
        while requests == 0 { requests = try world.simulator.ogs()["requests"] }
        try world.move()
        #expect(try check.end().exitCode == 0)
        try world.cycle()
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test func manyChecksAtOnceMakeOnePush() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.advance(seconds: 31)
        let check = try world.event("GET", "/check/1", by: 1)
        var running: [RunningProgram] = []
        for number in 0..<24 {
            running.append(
                number % 2 == 0 ? try world.start("check-turns") : try world.start("check", check))
        }
        for program in running { #expect(try program.end().exitCode == 0) }
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
        #expect(try world.simulator.pushes().count == 1)
    }
}
