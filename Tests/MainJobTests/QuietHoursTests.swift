import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Messages and turn notices during a user's mute and quiet hours.
@Suite struct QuietHoursTests {
    /// Moments around a change of the clock, in UTC, with the quiet hours' end as it must come out.
    struct Night: Sendable, CustomTestStringConvertible {
        let zone: String
        let from: String
        let to: String
        let falls: String
        let ends: String
        var testDescription: String { "\(zone) \(from)-\(to) from \(falls)" }
    }

    static let nights = [
        // Clocks go from 02:00 to 03:00 on 28 March 2027, and from 03:00 to 02:00 on 31 October.
        Night(
            zone: "Europe/Berlin", from: "22:00", to: "07:00", falls: "2027-03-27T21:30:00Z",
            ends: "2027-03-28T05:00:00Z"),
        Night(
            zone: "Europe/Berlin", from: "22:00", to: "02:30", falls: "2027-03-27T23:00:00Z",
            ends: "2027-03-28T01:00:00Z"),
        Night(
            zone: "Europe/Berlin", from: "22:00", to: "07:00", falls: "2027-10-30T20:30:00Z",
            ends: "2027-10-31T06:00:00Z"),
        // From 02:00 to 03:00 on 14 March 2027, and back on 7 November; half an hour off the others.
        Night(
            zone: "America/St_Johns", from: "23:00", to: "06:30", falls: "2027-03-14T03:00:00Z",
            ends: "2027-03-14T09:00:00Z"),
        Night(
            zone: "America/St_Johns", from: "23:00", to: "06:30", falls: "2027-11-07T03:00:00Z",
            ends: "2027-11-07T10:00:00Z"),
        // On 26 September 2010 from 00:00 to 01:00; there was no 30 December 2011.
        Night(
            zone: "Pacific/Apia", from: "22:00", to: "06:00", falls: "2010-09-26T09:30:00Z",
            ends: "2010-09-26T16:00:00Z"),
        Night(
            zone: "Pacific/Apia", from: "22:00", to: "06:00", falls: "2011-12-30T08:30:00Z",
            ends: "2011-12-30T16:00:00Z"),
    ]

    @Test(
        "a night's messages arrive as one in the morning, on both sides of a change",
        arguments: nights)
    func night(_ night: Night) throws {
        let world = try World()
        try world.set(night.falls)
        try world.give("ann", devices: 1...2)
        try world.prefer(night)
        let first = try world.sent(["users": ["ann"], "title": "One", "body": "1"])
        let second = try world.sent(["users": ["ann"], "title": "Two", "body": "2"])
        let until = try #require(Timestamp(night.ends)?.milliseconds)
        let seconds = (until - world.now) / 1000
        try world.advance(seconds: seconds - 1)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.report(first)["state"] == "waiting")
        try world.advance(seconds: 1)
        try world.run("deliver")
        let pushes = try world.simulator.pushes()
        #expect(pushes.count == 2)
        for push in pushes {
            let payload = push["payload"]?.object
            #expect(payload?["merged"] == 2)
            #expect(
                payload?["aps"]?.object?["alert"]
                    == ["title": "2 new notifications", "body": "Two: 2\nOne: 1"])
        }
        #expect(world.spooled().isEmpty)
        for id in [first, second] {
            let report = try world.report(id)
            #expect(report["state"] == "done")
            #expect(report["counts"] == ["accepted": 2])
        }
    }

    @Test(
        "one run sends everything that is due in the morning, on a slow disk too",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func slowDisk() throws {
        let world = try World()
        let night = Self.nights[0]
        try world.set(night.falls)
        try world.give("ann", devices: 1...12)
        try world.prefer(night)
        _ = try world.sent(["users": ["ann"], "title": "One", "body": "1"])
        try world.run("deliver")
        let until = try #require(Timestamp(night.ends)?.milliseconds)
        try world.advance(seconds: (until - world.now) / 1000)
        // Longer than a slice of a turn.
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-f", "-o", "/dev/null", "-e", "trace=rename", "-e",
                "inject=rename:delay_enter=5000", "--", Programs.path("deliver"),
            ], input: [], entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end(timeLimit: 60)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        #expect(try world.simulator.pushes().count == 12)
        #expect(world.spooled().isEmpty)
    }

    @Test("urgent messages come at once, a single message unchanged, and an unwanted kind never")
    func exempt() throws {
        let world = try World()
        let night = Self.nights[0]
        try world.set(night.falls)
        try world.give("ann", devices: 1...1)
        try world.prefer(night, kinds: ["comment": false])
        _ = try world.sent([
            "users": ["ann"], "title": "Now", "interruption_level": "time-sensitive",
        ])
        _ = try world.sent(["users": ["ann"], "content_available": true, "data": ["a": 1]])
        let held = try world.sent(["users": ["ann"], "title": "Later", "category": "C"])
        _ = try world.sent(["users": ["ann"], "title": "Never", "kind": "comment"])
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 2)
        #expect(try world.report(held)["counts"] == ["held": 1])
        try world.advance(seconds: 12 * 3600)
        try world.run("deliver")
        let aps = try world.simulator.pushes().last?["payload"]?.object?["aps"]
        #expect(aps == ["alert": ["title": "Later"], "category": "C"])
        #expect(try world.acceptedIDs().count == 3)
    }

    @Test(
        "held messages go to the devices' tokens of the morning, with the badge of the morning"
    )
    func newDevice() throws {
        let world = try World()
        try world.set(Self.nights[0].falls)
        try world.give("ann", devices: 1...1)
        try world.prefer(Self.nights[0])
        let id = try world.sent(["users": ["ann"], "title": "One", "badge": "+1"])
        try world.run("deliver")
        let user = try #require(UserID("ann"))
        try world.openState().users[user].update { $0.changeBadge(.set(7)) }
        try world.claim(2, for: "ann", insteadOf: 1)
        try world.give("ann", devices: 3...3)
        try world.advance(seconds: 8 * 3600)
        try world.run("deliver")
        let pushes = try world.simulator.pushes()
        #expect(pushes.map { $0["token"] } == [.string(token(2))])
        #expect(pushes.first?["payload"]?.object?["aps"]?.object?["badge"] == 8)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a push that a busy gateway put off into the next night comes with the messages held then")
    func busyMorning() throws {
        let world = try World()
        try world.set(Self.nights[0].falls)
        try world.give("ann", devices: 1...1)
        try world.prefer(Self.nights[0])
        let one = try world.sent(["users": ["ann"], "title": "One", "expires_in": 604_800])
        try world.run("deliver")
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        try world.advance(seconds: 8 * 3600)
        #expect(try world.run("deliver")["waiting"] == 1)
        try world.advance(seconds: 16 * 3600)
        let two = try world.sent(["users": ["ann"], "title": "Two", "expires_in": 86_400])
        for _ in 0..<2 {
            try world.run("deliver")
            try world.advance(seconds: 12 * 3600)
        }
        let titles = try world.simulator.pushes().filter { $0["accepted"] == true }.map {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]
        }
        #expect(titles == ["2 new notifications"])
        for id in [one, two] {
            #expect(try world.report(id)["counts"] == ["accepted": 1])
        }
        #expect(world.spooled().isEmpty)
    }

    @Test("a message cancelled in the night does not come in the morning")
    func calledOff() throws {
        let world = try World()
        try world.set(Self.nights[0].falls)
        try world.give("ann", devices: 1...1)
        try world.prefer(Self.nights[0])
        let first = try world.sent(["users": ["ann"], "title": "One"])
        _ = try world.sent(["users": ["ann"], "title": "Two"])
        try world.run("deliver")
        #expect(try world.callOff(first).json?.object?["state"] == "cancelled")
        try world.advance(seconds: 12 * 3600)
        try world.run("deliver")
        let alerts = try world.simulator.pushes().map {
            $0["payload"]?.object?["aps"]?.object?["alert"]
        }
        #expect(alerts == [["title": "Two"]])
    }

    @Test("turns of a night become one notice in the morning")
    func turns() throws {
        let world = try World()
        try world.set(Self.nights[0].falls)
        for game in Int64(1)...3 { try world.beginGame(game) }
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.preferQuiet(Self.nights[0], of: 1)
        try world.move(1)
        try world.move(2)
        try world.cycle()
        try world.move(3)
        try world.cycle()
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 12 * 3600)
        try world.cycle()
        let bodies = try world.simulator.pushes().map {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["body"]
        }
        #expect(bodies == ["It's your turn in 3 games"])
    }
}

@Suite struct BadgeTests {
    @Test("changes from many processes leave the same right number on each device")
    func manyProcesses() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        let event = world.message("PUT", "/api/badge", ["badge": "+1", "userId": "ann"])
        let programs = try (1...12).map { _ in try world.startBackend("badge", event) }
        for (number, program) in programs.enumerated() {
            if number % 4 == 0 { try world.run("deliver") }
            #expect(try Answer(event: program.end().stdout).status == 200)
        }
        try world.run("deliver")
        var shown: [String: JSONValue] = [:]
        for push in try world.simulator.pushes() {
            let headers = push["headers"]?.object
            #expect(headers?["apns-push-type"] == "alert")
            #expect(headers?["apns-priority"] == "5")
            let aps = push["payload"]?.object?["aps"]?.object
            #expect(aps?.members.map(\.name) == ["badge"])
            shown[push["token"]?.string ?? ""] = aps?["badge"]
        }
        #expect(shown == [token(1): 12, token(2): 12, token(3): 12])
        _ = try world.sent(["users": ["ann"], "title": "T", "badge": "+1"])
        try world.run("deliver")
        let last = try world.simulator.pushes().last?["payload"]?.object?["aps"]?.object
        #expect(last?["badge"] == 13)
    }
}

extension World {
    fileprivate func set(_ moment: String) throws {
        guard let moment = Timestamp(moment) else { throw TestFailure("no moment") }
        try advance(seconds: (moment.milliseconds - now) / 1000)
    }

    fileprivate func prefer(
        _ night: QuietHoursTests.Night, kinds: JSONObject = [:], user name: String = "ann"
    ) throws {
        guard let user = UserID(name) else { throw TestFailure("no user") }
        let hours = QuietHours([
            "from": .string(night.from), "to": .string(night.to), "timeZone": .string(night.zone),
        ])
        try openState().users[user].update { document in
            document.preferences.kinds = kinds
            document.preferences.quietHours = hours
        }
    }

    fileprivate func preferQuiet(_ night: QuietHoursTests.Night, of player: Int64) throws {
        let answer = try ask(
            "preferences", "PUT", "/api/preferences", by: player,
            [
                "quietHours": [
                    "from": .string(night.from), "to": .string(night.to),
                    "timeZone": .string(night.zone),
                ]
            ])
        #expect(answer.status == 200, "\(answer.body)")
    }
}
