import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// When messages go out that are sent for later.
@Suite struct ScheduleTests {
    @Test(
        "a message for later is delivered however short its life is",
        arguments: [1, 20, 59, 600], [599, 600, 601, 3605, 86_399])
    func shortLife(seconds: Int64, ahead: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Taxi", "expires_in": .integer(seconds),
            "send_after": .integer(world.now / 1000 + ahead),
        ])
        try world.advance(seconds: ahead - 1)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 1)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a repeated request gets the first answer though its moments have passed",
        arguments: ["expiration", "send_after"])
    func repeatedLate(member: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let start = world.now / 1000
        var body: JSONObject = [
            "users": ["ann"], "title": "Taxi", member: .integer(start + 60),
        ]
        if member == "send_after" { body["expiration"] = .integer(start + 90) }
        let first = try world.notify(body, key: "k")
        try world.advance(seconds: 100)
        let again = try world.notify(body, key: "k")
        #expect(first.status == 202 && again.status == 202 && again.body == first.body)
        // Without the key it is refused.
        #expect(try world.notify(body).status == 422)
        body["title"] = "Bus"
        #expect(try world.notify(body, key: "k").body.contains("different request"))
    }

    @Test(
        "of a scheduled message, the kind is decided at its moment, whoever is named",
        arguments: [#""users": ["ann"]"#, #""everyone": true"#], [false, true])
    func kindLater(audience: String, isOnThen: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        func set(_ isOn: Bool) throws {
            try world.change("ann") { $0.preferences.kinds["message"] = .bool(isOn) }
        }
        try set(!isOnThen)
        var body = try #require(try JSON.parse(Array("{\(audience)}".utf8)).object)
        body["title"] = "At nine"
        body["send_after"] = .integer(world.now / 1000 + 3600)
        let id = try world.sent(body)
        try set(isOnThen)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        let counts = try world.report(id)["counts"]
        #expect(counts == (isOnThen ? ["accepted": 1] : ["superseded": 1]))
        #expect(try world.acceptedIDs().count == (isOnThen ? 1 : 0))
    }

    @Test(
        "a scheduled message of a kind that stays unwanted is not sent, not even an urgent or a silent one",
        arguments: [
            #""title": "At nine""#, #""title": "x", "interruption_level": "critical""#,
            #""content_available": true"#,
        ])
    func kindStaysOff(content: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.change("ann") { $0.preferences.kinds["message"] = .bool(false) }
        // So old that what was decided on it would hold as long as it does not change.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -600)],
            ofItemAtPath: "\(world.state.path)/users/49/ann.json")
        var body = try #require(try JSON.parse(Array("{\(content)}".utf8)).object)
        body["users"] = ["ann"]
        body["kind"] = "message"
        body["send_after"] = .integer(world.now / 1000 + 3600)
        let id = try world.sent(body)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().isEmpty)
    }

    @Test(
        "messages arrive in the order in which they were accepted, also with idempotency keys or for several users",
        arguments: [["ann"], ["ann", "bob"]])
    func order(users: [String]) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("bob", devices: 2...2)
        for number in 0..<20 {
            let body: JSONObject = [
                "users": JSONValue(texts: number % 3 == 0 ? ["ann"] : users),
                "title": .string("\(number)"),
            ]
            #expect(try world.notify(body, key: "k\(number)").status == 202)
        }
        try world.run("deliver")
        let titles = try world.simulator.pushes().filter { $0["token"] == .string(token(1)) }.map {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
        #expect(titles == (0..<20).map { "\($0)" })
    }

    @Test(
        "it waits for its moment, also if the clock was ahead of that when it was accepted",
        arguments: [false, true])
    func acceptedByAClockAhead(isTried: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let moment = world.now / 1000 + 1800
        try world.advance(seconds: 3000)
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(moment),
        ])
        if isTried {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
            try world.run("deliver")
        }
        try world.advance(seconds: -3000)
        try world.run("deliver")
        try world.advance(seconds: 1799)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.report(id)["state"] == "waiting")
        // What was put off by that clock is tried again when its pause is over.
        try world.advance(seconds: isTried ? 3600 : 61)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a message that was due by a clock that was ahead waits again once the clock is right",
        arguments: [false, true])
    func clockAhead(isHeld: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "At nine",
            "send_after": .integer(world.now / 1000 + 900),
        ])
        // Half an hour ahead, it is put off or held.
        try world.advance(seconds: 1800)
        if isHeld {
            let end = Timestamp(milliseconds: world.now + 3_600_000)
            try world.change("ann") { $0.preferences.mutedUntil = end }
        } else {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        }
        try world.run("deliver")
        try world.change("ann") { $0.preferences.mutedUntil = nil }
        try world.advance(seconds: -1800)
        try world.run("deliver")
        try world.advance(seconds: 899)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a message that is tried once is tried though it was sent for later")
    func once() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Now or never", "expiration": 0,
            "send_after": .integer(world.now / 1000 + 3605),
        ])
        try world.advance(seconds: 3605)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
