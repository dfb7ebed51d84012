import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A machine's clock that was ahead for a while. When it is right again, nothing waits until the time that it
/// showed.
@Suite struct ClockTests {
    @Test(
        "a push put off by a clock that was ahead is sent when the clock is right",
        arguments: [1100, 300])
    func putOff(seconds: Int64) throws {
        let world = try World()
        try world.accept("a", devices: 1...3, lasting: .days(1))
        try world.advance(seconds: seconds)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 0)
        try world.advance(seconds: -seconds)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 3)
        #expect(world.spooled().isEmpty)
    }

    @Test("a scheduled message waits for its time, whatever the clock showed")
    func wanted() throws {
        let world = try World()
        try world.accept(
            "a", devices: 1...1, lasting: .days(1), wantedAt: world.now + 7_200_000)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        try world.advance(seconds: -3600)
        try world.run("deliver")
        #expect(try world.simulator.apns()["requests"] == 0)
        try world.advance(seconds: 7201)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 1)
    }

    @Test(
        "a request sent after the clock was set back over midnight is recognized, and counts once",
        arguments: [0, 1, 3])
    func midnight(daysBefore: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        // Ten minutes past midnight, with or without receipts of an earlier day.
        if daysBefore > 0 {
            _ = try world.sent(["users": ["ann"], "title": "Before"])
            try world.run("deliver")
        }
        try world.advance(seconds: 12 * 3600 + 600 + max(0, daysBefore - 1) * 86_400)
        let body: JSONObject = ["users": ["ann"], "title": "Once"]
        let first = try world.notify(body, key: "order-1")
        let id = try #require(first.json?.object?["id"]?.string)
        try world.advance(seconds: -1200)
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "done")
        #expect(try world.notify(body, key: "order-1").body == first.body)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == (daysBefore > 0 ? 2 : 1))

        let second = try world.sent(["users": ["ann"], "title": "Two"])
        try world.run("deliver")
        #expect(try world.report(second)["state"] == "done")
        try world.advance(seconds: 1200)
        for id in [id, second] { #expect(try world.report(id)["state"] == "done") }
    }

    @Test("receipts that were begun on a day stay in their order when the clock is set back")
    func receipts() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        // At 23:45, 00:10, 23:50, and 00:11.
        try world.advance(seconds: 12 * 3600 - 900)
        for step in [0, 1500, -1200, 0, 1260] as [Int64] {
            try world.advance(seconds: step)
            let id = try world.sent(["users": ["ann"], "title": "T"])
            try world.run("deliver")
            #expect(try world.report(id)["state"] == "done")
        }
        let days = world.state.files().keys.filter { $0.hasPrefix("receipts/") }
        #expect(
            Set(days) == ["receipts/2026-11-21.apns.1.jsonl", "receipts/2026-11-22.apns.1.jsonl"])
        let moments = try world.receipts().compactMap { $0["finished_at"]?.integer }
        let start = moments[0] - 12 * 3_600_000 + 900_000
        #expect(moments.map { ($0 - start) / 60_000 } == [705, 730, 710, 710, 731])
    }

    @Test("a clock that was ahead by weeks does not keep receipts in its day for weeks")
    func weeks() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.state.write(
            #"{"id":"a","accepted_at":1797854400000,"finished_at":1797854400000}"# + "\n",
            to: "receipts/2026-12-21.apns.1.jsonl")
        let id = try world.sent(["users": ["ann"], "title": "T"])
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "done")
        let days = world.state.files().keys.filter { $0.hasPrefix("receipts/") }
        #expect(
            Set(days) == ["receipts/2026-12-21.apns.1.jsonl", "receipts/2026-11-21.apns.2.jsonl"])
    }

    @Test(
        "of a message that was accepted by a clock far ahead, nothing waits once its receipts are gone"
    )
    func forgotten() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.advance(seconds: 20 * 86_400)
        let id = try world.sent(["users": ["ann"], "title": "T"])
        try world.advance(seconds: -20 * 86_400)
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "done")
        try world.advance(seconds: 34 * 86_400)
        try world.run("deliver")
        // 404: the receipts are gone.
        #expect(throws: TestFailure.self) { try world.report(id) }
    }

    @Test(
        "a message that was held by a clock far ahead is reported as what became of it",
        arguments: [0, 30])
    func heldAhead(daysUntilReport: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.advance(seconds: 20 * 86_400)
        let quiet = Timestamp(milliseconds: world.now) + .minutes(10)
        try world.change("ann") { $0.preferences.mutedUntil = quiet }
        let id = try world.sent(["users": ["ann"], "title": "T"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 1])
        try world.advance(seconds: -20 * 86_400)
        try world.change("ann") { $0.preferences.mutedUntil = nil }
        for _ in 0..<2 {
            try world.run("deliver")
            try world.advance(seconds: 1200)
        }
        #expect(try world.acceptedIDs().count == 1)
        try world.advance(seconds: daysUntilReport * 86_400)
        let report = try world.report(id)
        #expect(report["state"] == "done")
        #expect(report["counts"] == ["accepted": 1])
    }

    @Test(
        "a device that got its message is reported so while others wait, though the clock was set back"
    )
    func partlyAhead() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.advance(seconds: 20 * 86_400)
        let id = try world.sent(["users": ["ann"], "title": "T", "expires_in": 2_000_000])
        try world.advance(seconds: -20 * 86_400)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        // Also when the clock has come to the day on which it was accepted.
        for days in [0, 19, 1] as [Int64] {
            try world.advance(seconds: days * 86_400)
            let report = try world.report(id)
            #expect(report["state"] == "sending")
            #expect(report["counts"] == ["accepted": 1, "waiting": 1])
        }
    }

    @Test("a message that was accepted by a clock far ahead counts on no badge unless it arrives")
    func badgeAhead() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.advance(seconds: 20 * 86_400)
        let refused = try world.sent(["users": ["ann"], "title": "T", "badge": "+1"])
        try world.advance(seconds: -20 * 86_400)
        try world.simulator.perform([
            "do": "apns-fault", "status": 413, "reason": "PayloadTooLarge", "count": 2,
        ])
        try world.run("deliver")
        #expect(try world.report(refused)["counts"] == ["refused": 2])
        #expect(try badge(world) == 0)

        try world.advance(seconds: 20 * 86_400)
        let partly = try world.sent(["users": ["ann"], "title": "T", "badge": "+1"])
        try world.advance(seconds: -20 * 86_400)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "count": 1, "token": .string(token(2)),
        ])
        try world.run("deliver")
        #expect(try world.report(partly)["counts"] == ["accepted": 1, "waiting": 1])
        _ = try world.callOff(partly)
        #expect(try world.report(partly)["counts"] == ["accepted": 1, "cancelled": 1])
        #expect(try badge(world) == 1)
    }

    @Test(
        "nor is one taken back that arrived, if the clock was ahead when the first message was accepted",
        arguments: [300, 12 * 3600, 10 * 86_400])
    func badgeOfTheFirst(seconds: Int64) throws {
        let world = try World.withAllServices()
        try world.register(token(1), of: 1)
        let browser = try world.simulator.perform(["do": "web-subscription"])
        let body: JSONObject = [
            "user_id": "1", "platform": "web", "subscription": browser["subscription"] ?? .null,
        ]
        let answer = try world.ask("register", "POST", "/register", by: 1, .object(body))
        #expect(answer.status == 200)
        // At two minutes to midnight.
        try world.advance(seconds: 12 * 3600 - 120 + seconds)
        let id = try world.sent([
            "users": ["1"], "title": "T", "badge": "+1", "expires_in": 3600,
        ])
        try world.advance(seconds: -seconds)
        try world.simulator.perform(["do": "web-fault", "status": 503, "count": 1])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 0, "web": 0])
        try world.advance(seconds: seconds + 7200)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1, "expired": 1])
        #expect(try world.document(1)["badge"] == 1)
    }

    private func badge(_ world: World) throws -> Int64? {
        var event = world.message("GET", "/api/badge").object ?? [:]
        event["query"] = "userId=ann"
        let answer = try world.startBackend("badge", .object(event)).end().stdout
        return try Answer(event: answer).json?.object?["badge"]?.integer
    }

    @Test("OGS is asked again when the clock is right", arguments: [7200, 1200])
    func backOff(seconds: Int64) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.simulator.perform(["do": "ogs-fault", "status": 429, "retry_after": 100])
        try world.advance(seconds: seconds)
        try world.cycle()
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: -seconds)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "a player whose looks failed is looked at when the clock is right", arguments: [7200, 1200])
    func failedLooks(seconds: Int64) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.advance(seconds: seconds)
        try world.simulator.perform(["do": "ogs-fault", "status": 500, "count": 1])
        try world.cycle()
        try world.advance(seconds: -seconds)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "a provider token that was made by a clock that was ahead serves on",
        arguments: [19, 50, 54])
    func providerToken(minutes: Int64) throws {
        let world = try World()
        world.variables["TURNSTONE_NOW"] = "\(world.now + minutes * 60_000)"
        try world.accept("a", devices: 1...1, lasting: .days(1))
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 1)
        world.variables["TURNSTONE_NOW"] = nil
        try world.advance(seconds: 30)
        try world.accept("b", devices: 2...2)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 2)
    }

    @Test(
        "a provider token that is damaged is made again",
        arguments: ["", "{", "[]", #"{"version":1,"revision":1,"token":7}"#, nil])
    func damagedToken(text: String?) throws {
        let world = try World()
        try world.accept("a", devices: 1...1, lasting: .days(1))
        try world.run("deliver")
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("credentials/") && $0.hasSuffix(".json") }
        )
        if let text {
            try world.state.write(text, to: name)
        } else {
            unlink("\(world.state.path)/\(name)")
        }
        try world.advance(seconds: 25 * 60)
        try world.accept("b", devices: 2...2)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 2)
    }

    @Test(
        "if APNs refuses such a token, the push is sent with another one at once",
        arguments: ["InvalidProviderToken", "ExpiredProviderToken"])
    func refusedToken(reason: String) throws {
        let world = try World()
        world.variables["TURNSTONE_NOW"] = "\(world.now + 50 * 60_000)"
        try world.accept("a", devices: 1...1, lasting: .days(1))
        try world.run("deliver")
        world.variables["TURNSTONE_NOW"] = nil
        try world.advance(seconds: 25 * 60)
        try world.simulator.perform([
            "do": "apns-fault", "status": 403, "reason": .string(reason), "count": 1,
        ])
        try world.accept("b", devices: 2...2)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 2)
    }

    @Test("a push that met too many provider tokens is tried again within three minutes")
    func tooManyTokens() throws {
        let world = try World()
        try world.accept("a", devices: 1...1, lasting: .days(1))
        try world.simulator.perform([
            "do": "apns-fault", "status": 429, "reason": "TooManyProviderTokenUpdates", "count": 3,
        ])
        for _ in 0..<4 {
            try world.run("deliver")
            try world.advance(seconds: 180)
        }
        #expect(try world.simulator.apns()["accepted"] == 1)
    }

    @Test("a push service that refused the provider token is asked again when the clock is right")
    func stop() throws {
        let world = try World()
        try world.accept("a", devices: 1...1)
        try world.advance(seconds: 200)
        try world.simulator.perform([
            "do": "apns-fault", "status": 403, "reason": "InvalidProviderToken", "count": 1,
        ])
        try world.run("deliver", exitCode: 111)
        try world.advance(seconds: -200)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 1)
    }
}
