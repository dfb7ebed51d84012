import Crypto
import Documents
import Foundation
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Updates to all listeners of a session at once.
@Suite struct SessionTests {
    /// How an activity leaves its session.
    enum Path: CaseIterable { case otherSession, noSession, newTokens }

    @Test("a state is one notification, however many listen, and reaches each of them once")
    func many() throws {
        let world = try World()
        for number in 1...120 { try world.listen(number) }
        #expect(try world.send(1) == "queued")
        #expect(world.spooled().count == 1)
        try world.run("deliver")
        #expect(try world.shown() == (1...120).map { [$0: [1]] }.merged)
        #expect(try world.send(2) == "held")
        #expect(try world.send(3) == "held")
        #expect(world.spooled().count == 1)
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.shown() == (1...120).map { [$0: [1, 3]] }.merged)
        #expect(try world.send(4, ["timestamp": .integer(world.now / 1000 - 60)]) == "outdated")
        #expect(world.spooled().isEmpty)
    }

    @Test("no state is lost to a drainer that looks while the state is being accepted")
    func whileDelivering() throws {
        let world = try World()
        let count = 100
        for number in 1...count { try world.listen(number, to: "session-\(number)") }
        world.variables["DELIVER_LINGER_SECONDS"] = "2"
        let drainer = try world.start("deliver")
        for number in 1...count {
            #expect(try world.send(1, ["sessionId": .string("session-\(number)")]) == "queued")
        }
        #expect(try drainer.end().exitCode == 0)
        #expect(try world.shown() == (1...count).map { [$0: [1]] }.merged)
    }

    @Test("a listener that joins while a state is held gets the next one with the others")
    func newcomer() throws {
        let world = try World()
        try world.listen(1)
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        #expect(try world.send(2) == "held")
        try world.listen(2)
        #expect(try world.send(3) == "held")
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 3], 2: [3]])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "nobody is alerted to what their session was sent before they joined",
        arguments: [nil, 3, 5], [false, true])
    func newcomersAlert(own: Int?, isShownBefore: Bool) throws {
        let world = try World()
        try world.listen(1)
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        let urgent: JSONObject = ["alert": ["title": "Gate", "body": "A7"], "priority": 10]
        #expect(try world.send(2, urgent) == "held")
        try world.listen(2)
        for step in 3...5 {
            let isOwn = step == own
            let only: JSONObject = isOwn ? ["activityId": "activity-2"] : [:]
            _ = try world.send(step, only)
            if isOwn, isShownBefore { try world.run("deliver") }
        }
        for _ in 1...4 {
            try world.advance(seconds: 15)
            try world.run("deliver")
        }
        #expect(try world.shown()[1] == [1, own == 5 ? 4 : 5])
        #expect(try world.shown()[2]?.last == 5)
        let alerted = try world.simulator.pushes().filter {
            $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
        #expect(alerted.map { $0["token"]?.string } == [token(1)])
        let urgentOnes = try world.simulator.pushes().filter {
            $0["headers"]?.object?["apns-priority"] == "10"
        }
        #expect(urgentOnes.map { $0["token"]?.string } == [token(1)])
        #expect(world.spooled().isEmpty)
    }

    /// Calls, in capitals with an alert: to the session (`s`) or to its second activity alone (`a`).
    @Test(
        "of the alerts that wait for an activity and its session, it gets the newest once",
        arguments: ["SAs", "ASa", "Sas", "SaS", "ASs", "AsS", "Ass", "SSa", "saS", "Saa", "SAa"],
        [0, 1, 2, 11, 12])
    func newestAlert(calls: String, faults: Int64) throws {
        // The session goes on after the faults.
        let goesOn = faults > 10
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        #expect(try world.send(9) == "queued")
        try world.run("deliver")
        for (step, call) in calls.enumerated() {
            var more: JSONObject = call.lowercased() == "a" ? ["activityId": "activity-2"] : [:]
            if call.isUppercase { more["alert"] = ["title": .string("\(step)"), "body": "x"] }
            #expect(try world.send(step, more) == "held")
        }
        if faults > 0 {
            try world.simulator.perform([
                "do": "apns-fault", "status": 429, "retry_after": 30,
                "count": .integer(faults % 10),
            ])
        }
        for round in 1...8 {
            try world.advance(seconds: 14)
            try world.run("deliver")
            // A push that waits for its verdict's sake is looked at again a second later.
            try world.advance(seconds: 2)
            try world.run("deliver")
            if goesOn, round <= 2 { _ = try world.send(calls.count + round) }
        }
        try world.advance(seconds: 2400)
        for _ in 1...2 { try world.run("deliver") }
        func alerts(_ number: Int, among kinds: String) throws {
            let heard = try world.simulator.pushes().filter {
                $0["accepted"] == true && $0["token"]?.string == token(number)
            }.compactMap { $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"] }
            let newest = Array(calls).lastIndex { kinds.contains($0) }
            #expect(heard.last == newest.map { .string("\($0)") }, "\(number): \(heard)")
            #expect(Set(heard.map { JSON.text($0) }).count == heard.count, "\(number): \(heard)")
        }
        try alerts(1, among: "S")
        try alerts(2, among: "SA")
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "an alert that a session's state brings comes once, though the user's document is locked",
        arguments: [1, 25])
    func lockedListener(tenths: Int) throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        _ = try world.send(1)
        try world.run("deliver")
        try world.simulator.perform([
            "do": "apns-fault", "token": .string(token(2)), "status": 429, "retry_after": 600,
            "count": 1,
        ])
        let alert: JSONObject = ["title": "Gate", "body": "A7"]
        func alerts() throws -> [String] {
            try world.simulator.pushes().filter {
                $0["accepted"] == true && $0["payload"]?.object?["aps"]?.object?["alert"] != nil
            }.compactMap { $0["token"]?.string }
        }
        _ = try world.send(2, ["activityId": "activity-2", "alert": .object(alert)])
        for step in 3...5 {
            try world.advance(seconds: 16)
            // The second run brings the alert with the session's state, and cannot record that at once.
            let drainer =
                step == 4
                ? try world.holdingUser(2) { () throws in
                    let drainer = try world.start("deliver")
                    for _ in 0..<1000 where try alerts().isEmpty { usleep(10_000) }
                    usleep(UInt32(tenths) * 100_000)
                    return drainer
                } : try world.start("deliver")
            #expect(try drainer.end().exitCode == 0)
            if step < 5 { _ = try world.send(step) }
        }
        #expect(try alerts() == [token(2)])
    }

    @Test(
        "an update of one activity takes over an alert of its session that was put off",
        arguments: [429, 503], [0, 16, 1000])
    func putOffAlert(status: Int64, pause: Int64) throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        _ = try world.send(1)
        try world.run("deliver")
        try world.simulator.perform([
            "do": "apns-fault", "token": .string(token(2)), "status": .integer(status),
            "retry_after": 40, "count": 1,
        ])
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        let alert: JSONObject = ["title": "Gate", "body": "A7"]
        _ = try world.send(2, ["alert": .object(alert), "staleDate": stale])
        try world.advance(seconds: 16)
        try world.run("deliver")
        try world.advance(seconds: pause)
        _ = try world.send(3, ["activityId": "activity-2", "staleDate": stale])
        for step in 4...5 {
            for _ in 1...5 {
                try world.advance(seconds: 300)
                try world.run("deliver")
            }
            _ = try world.send(step)
        }
        try world.run("deliver")
        for number in 1...2 {
            let alerts = try world.simulator.pushes().filter {
                $0["accepted"] == true && $0["token"]?.string == token(number)
                    && $0["payload"]?.object?["aps"]?.object?["alert"] != nil
            }
            #expect(alerts.count == 1, "\(number)")
        }
        #expect(try world.shown()[2]?.last == 5)
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "an alert of its session that an update of one activity has brought, or may have, comes with no other",
        arguments: ["accepted", "in doubt"], [1, 3])
    func broughtAlert(how: String, more: Int) throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "retry_after": 120, "count": 1,
        ])
        _ = try world.send(2, ["alert": ["title": "Gate", "body": "A7"], "staleDate": stale])
        try world.advance(seconds: 16)
        try world.run("deliver")
        let only: JSONObject = ["activityId": "activity-1", "staleDate": stale]
        if how == "in doubt" {
            try world.simulator.perform([
                "do": "apns-fault", "kind": "drop", "accepted": true, "count": 1,
            ])
        }
        for step in 3..<3 + more {
            _ = try world.send(step, only)
            try world.advance(seconds: 16)
            _ = try world.start("deliver").end()
        }
        // The session's own push is due, and then comes its next state.
        for step in 10...11 {
            try world.advance(seconds: 1200)
            try world.run("deliver")
            _ = try world.send(step, step == 10 ? only : [:])
            try world.advance(seconds: 16)
            try world.run("deliver")
        }
        let alerts = try world.simulator.pushes().filter {
            $0["accepted"] == true && $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
        #expect(Set(alerts.map { $0["apns_id"]?.string }).count == 1, "\(alerts)")
        #expect(try world.shown()[1]?.last == 11)
        #expect(world.spooled().isEmpty)
    }

    @Test("an alert that may have arrived is not taken over by the activity's next state")
    func doubtfulAlert() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        let only: JSONObject = ["activityId": "activity-1"]
        _ = try world.send(2, only.adding(["alert": ["title": "Gate", "body": "A7"]]))
        for step in 3...5 {
            try world.advance(seconds: 16)
            _ = try world.start("deliver").end()
            _ = try world.send(step, only)
        }
        let alerts = try world.simulator.pushes().filter {
            $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
        #expect(Set(alerts.map { $0["apns_id"]?.string }).count == 1, "\(alerts)")
        #expect(world.spooled().count <= 1)
    }

    @Test("an alert comes with the next state if all pushes that were to bring it were dropped")
    func droppedAlert() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        func send(_ step: Int, _ more: JSONObject = [:]) throws {
            #expect(try world.send(step, more) == "held")
            try world.advance(seconds: 16)
            try world.run("deliver")
        }
        // The first listener's pushes are put off twice. The second one expires before it is tried again, the
        // first one is replaced by it.
        try world.simulator.perform([
            "do": "apns-fault", "token": .string(token(1)), "status": 429, "retry_after": 400,
            "count": 2,
        ])
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        try send(2, ["alert": ["title": "Gate", "body": "A7"], "staleDate": stale])
        try send(3)
        for _ in 1...3 {
            try world.advance(seconds: 600)
            try world.run("deliver")
        }
        #expect(world.spooled().isEmpty)
        for step in 4...5 {
            _ = try world.send(step)
            try world.run("deliver")
            try world.advance(seconds: 16)
        }
        #expect(try world.shown() == [1: [1, 4, 5], 2: [1, 2, 3, 4, 5]])
        let alerted = try world.simulator.pushes().filter {
            $0["accepted"] == true && $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
        #expect(alerted.map { $0["token"]?.string } == [token(2), token(1)])
    }

    @Test("an own alert that the session's state has taken over comes though that is put off, too")
    func alertPutOffTwice() throws {
        let world = try World()
        try world.listen(1)
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        func send(_ step: Int, _ more: JSONObject, putOffFor seconds: Int) throws {
            try world.simulator.perform([
                "do": "apns-fault", "status": 429, "retry_after": .integer(Int64(seconds)),
                "count": 1,
            ])
            _ = try world.send(step, more)
            try world.advance(seconds: 16)
            try world.run("deliver")
        }
        try send(
            2,
            [
                "activityId": "activity-1", "alert": ["title": "Own", "body": "B"],
                "staleDate": stale,
            ], putOffFor: 60)
        try send(3, ["staleDate": stale], putOffFor: 900)
        for _ in 1...6 {
            try world.advance(seconds: 300)
            try world.run("deliver")
        }
        #expect(world.spooled().isEmpty)
        let titles = try world.simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
        #expect(titles == ["Own"])
        #expect(try world.shown()[1]?.last == 3)
    }

    @Test("an activity's own alert is not taken for one of its session with the same number")
    func ownAlert() throws {
        let world = try World()
        try world.listen(1)
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        func send(_ step: Int, at seconds: Int64, _ more: JSONObject) throws {
            var more = more
            more["timestamp"] = .integer(world.now / 1000 + seconds)
            more["staleDate"] = stale
            #expect(try world.send(step, more) != "outdated")
            try world.run("deliver")
            try world.advance(seconds: 16)
            try world.run("deliver")
        }
        // The first state of its own and the first one of its session both have an alert, and the session's is
        // the older state.
        try send(
            1, at: 600,
            ["activityId": "activity-1", "alert": ["title": "Own", "body": "B"]])
        try send(2, at: -600, ["alert": ["title": "Gate", "body": "A7"]])
        try send(3, at: 900, [:])
        let titles = try world.simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
        #expect(titles == ["Own", "Gate"])
    }

    @Test(
        "an alert that is sent to a session while an activity's own update takes it over comes once",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func alertAtOnce() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        #expect(try world.send(2, ["alert": ["title": "Gate", "body": "A7"]]) == "held")
        try world.advance(seconds: 16)
        // Stopped for two seconds before it is accepted, when it has read what waits for the session.
        let update = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-f", "-o", "/dev/null", "-e", "trace=rename", "-e",
                "inject=rename:delay_enter=2000000:when=1", "--",
                Programs.path("live-activity"),
            ], input: JSON.text(world.updating(["step": 3], of: ["activityId": "activity-1"])),
            entries: world.environment.map { "\($0.key)=\($0.value)" })
        usleep(700_000)
        try world.run("deliver")
        #expect(try Answer(event: update.end().stdout).status == 202)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 16)
        }
        let alerted = try world.simulator.pushes().filter {
            $0["payload"]?.object?["aps"]?.object?["alert"] != nil
        }
        #expect(
            Set(alerted.map { $0["token"]?.string }) == [token(1), token(2)] && alerted.count == 2)
        #expect(try world.shown()[1]?.last == 3)
        #expect(world.spooled().isEmpty)
    }

    @Test("an activity's own update takes over the alert of its session's that it replaces")
    func alertOfSession() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        #expect(try world.send(2, ["alert": ["title": "Gate", "body": "A7"]]) == "held")
        #expect(try world.send(3, ["activityId": "activity-1"]) == "held")
        // The session's state keeps its distance from the activity's own, and is not sent to it then.
        for _ in 0..<5 {
            try world.advance(seconds: 8)
            try world.run("deliver")
        }
        #expect(try world.shown() == [1: [1, 3], 2: [1, 2]])
        let alerts = try world.simulator.pushes().compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]
        }
        #expect(alerts.count == 2)
        #expect(world.spooled().isEmpty)
    }

    @Test("an activity that was ended alone gets nothing more, whatever its session was sent since")
    func endedAlone() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        let alone: JSONObject = ["activityId": "activity-1"]
        let end: JSONObject = ["activityId": "activity-1", "event": "end"]
        #expect(try world.call(1, end).status == 202)
        try world.run("deliver")
        try world.advance(seconds: 1)
        #expect(try world.send(2) == "queued")
        try world.run("deliver")
        #expect(try world.call(3, alone).status == 409)
        #expect(try world.shown() == [1: [1], 2: [2]])
    }

    @Test("an end without a state goes where each activity has one to end with")
    func endWithoutState() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        let end: JSONObject = ["event": "end"]
        let alone: JSONObject = ["event": "end", "activityId": "activity-1"]
        #expect(try world.call(nil, end).status == 409)
        #expect(try world.call(nil, alone).status == 409)
        #expect(try world.call(1, ["activityId": "activity-1"]).status == 202)
        #expect(try world.call(nil, end).status == 409, "activity 2 has none")
        #expect(try world.call(2, ["activityId": "activity-2"]).status == 202)
        #expect(try world.send(nil, end) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [2]])
        let states = try world.simulator.pushes().map { $0["reason"] }
        #expect(states.allSatisfy { $0 == nil }, "\(states)")
    }

    @Test("the next state keeps its distance from a later attempt to send the last one")
    func laterAttempt() throws {
        let world = try World()
        try world.listen(1)
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        try world.advance(seconds: 16)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1]])
        try world.advance(seconds: 1)
        #expect(try world.send(2) == "held")
        #expect(try world.send(3, ["activityId": "activity-1"]) == "held")
        try world.advance(seconds: 14)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 3]])
    }

    @Test(
        "an alert of one activity that was put off goes with the next state of its session that is taken",
        arguments: 1...3)
    func alertPutOff(failures: Int) throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        let alert: JSONObject = ["title": "T", "body": "B"]
        let alone: JSONObject = ["activityId": "activity-1", "alert": .object(alert)]
        #expect(try world.send(2, alone) == "held")
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "count": .integer(Int64(failures)),
        ])
        try world.advance(seconds: 16)
        try world.run("deliver")
        for failure in 1...failures {
            try world.advance(seconds: 16)
            _ = try world.send(2 + failure)
            try world.run("deliver")
        }
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, Int64(2 + failures)]])
        let last = try world.simulator.pushes().last { $0["accepted"] == true }
        #expect(last?["payload"]?.object?["aps"]?.object?["alert"] == .object(alert))
    }

    @Test("a listener that joined after the session's last state ends with it")
    func endOfNewcomer() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        try world.listen(2)
        #expect(try world.call(nil, ["event": "end", "activityId": "activity-2"]).status == 202)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [1]])
    }

    @Test("an end is for the present listeners; later ones get later states")
    func end() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        #expect(try world.send(nil, ["event": "end"]) == "queued")
        try world.run("deliver")
        #expect(try world.call(2).status == 409)
        #expect(try world.call(nil, ["event": "end"]).status == 409)
        #expect(try world.call(2, ["activityId": "activity-1"]).status == 409)
        try world.listen(2)
        #expect(try world.send(5) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [5]])
        // The end has waited for its gateway meanwhile.
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 1], 2: [5]])
        #expect(try world.send(6) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 1], 2: [5, 6]])
        #expect(world.spooled().isEmpty)
    }

    @Test("a device that registers while a call waits for the session is included")
    func meanwhile() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        let ended = try world.holdingSession { state, holders in
            let call = try world.start(
                "live-activity", world.updating(nil, ["event": "end"], of: ["sessionId": "final"]))
            try world.wait(for: call, toOpen: "sessions")
            let user = try #require(UserID("user-2"))
            var device = Device(
                try #require(DeviceToken(token(2))),
                registered: Timestamp(milliseconds: world.now))
            device.kind = .liveActivity(activity: "activity-2", session: "final")
            try state.users[user].update { $0.devices.append(device) }
            holders.users.append(user)
            return call
        }
        #expect(try Answer(event: ended.end().stdout).status == 202)
        try world.run("deliver")
        #expect(try world.ends() == [1, 2])
    }

    @Test("a state sent to one activity alone is not overtaken by its session's earlier states")
    func alone() throws {
        let world = try World()
        try world.listen(1)
        try world.listen(2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        _ = try world.send(1, ["staleDate": stale])
        try world.run("deliver")
        #expect(
            try world.send(2, ["activityId": "activity-1", "staleDate": stale]) == "held")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.shown() == [1: [2], 2: [1]])
        // An end without a state shows each activity its own last state again.
        _ = try world.send(nil, ["event": "end"])
        try world.run("deliver")
        #expect(try world.shown() == [1: [2, 2], 2: [1, 1]])
        #expect(try world.grows())
    }

    @Test("an activity has one window, whether its states come alone or by its session")
    func window() throws {
        let world = try World()
        try world.listen(1)
        try world.listen(2)
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        try world.advance(seconds: 5)
        #expect(try world.send(2, ["activityId": "activity-1"]) == "held")
        try world.advance(seconds: 10)
        try world.run("deliver")
        #expect(try world.send(3) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2], 2: [1, 3]])
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2, 3], 2: [1, 3]])
        #expect(try world.grows())
    }

    @Test("a state put off for one activity alone does not follow its session's later state")
    func alonePutOff() throws {
        let world = try World()
        try world.listen(1)
        try world.listen(2)
        try world.putOffAlone()
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.shown() == [1: [2], 2: [2]])
        #expect(world.spooled().isEmpty)
    }

    @Test("nothing that waits for one activity alone follows its session's end")
    func aloneAtEnd() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1)
        try world.run("deliver")
        #expect(try world.send(2, ["activityId": "activity-1"]) == "held")
        #expect(try world.send(3, ["event": "end"]) == "queued")
        try world.run("deliver")
        try world.advance(seconds: 16)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 3]])
        #expect(world.spooled().isEmpty)
    }

    @Test("an activity that is registered for another session gets the states of that one only")
    func otherSession() throws {
        let world = try World()
        try world.listen(1)
        try world.listen(2)
        for step in 1...3 {
            _ = try world.send(step)
            try world.run("deliver")
            try world.advance(seconds: 15)
        }
        #expect(try world.send(4, ["activityId": "activity-1"]) == "queued")
        try world.run("deliver")
        #expect(try world.send(5) != "outdated")
        try world.listen(1, to: "other")
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.send(6, ["sessionId": "other"]) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2, 3, 4, 6], 2: [1, 2, 3, 5]])
        #expect(try world.grows())
        #expect(world.spooled().isEmpty)
    }

    @Test("an end shows each activity its own state, also where the other environment is asked")
    func otherEnvironment() throws {
        let world = try World()
        let development = try Simulator(like: world.simulator)
        try development.perform(["do": "clock", "now": .integer(world.now)])
        world.variables["APNS_ENVIRONMENT"] = "production"
        world.variables["APNS_DEVELOPMENT_BASE_URL"] = development.addresses["apns"]?.string
        for number in 1...9 { try world.listen(number) }
        _ = try world.send(10)
        try world.run("deliver")
        try world.advance(seconds: 20)
        for number in 1...9 {
            _ = try world.send(number, ["activityId": .string("activity-\(number)")])
        }
        try world.run("deliver")
        try world.advance(seconds: 20)
        // One that is accepted: until then a connection takes one push at a time.
        for number in 2...9 {
            try world.simulator.perform([
                "do": "token", "token": .string(token(number)), "is": "other-environment",
            ])
        }
        try development.perform(["do": "clock", "now": .integer(world.now)])
        _ = try world.send(nil, ["event": "end"])
        try world.run("deliver")
        #expect(try world.shown()[1] == [10, 1, 1])
        let elsewhere = try world.shown(in: development)
        #expect(elsewhere == (2...9).map { [$0: [Int64($0)]] }.merged)
    }

    @Test(
        "a listener without a state when the next one is due gets only that one"
    )
    func putOff() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        #expect(try world.send(1) == "queued")
        try world.run("deliver")
        try world.advance(seconds: 2400)
        #expect(try world.send(2) == "queued")
        try world.run("deliver")
        let shown = try world.shown()
        #expect(shown.values.map { $0.sorted() }.sorted { $0.count < $1.count } == [[2], [1, 2]])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "what a session was sent before an activity came back to it is not for it",
        arguments: ["update", "end"], [Path.otherSession, .noSession, .newTokens])
    func cameBack(event: String, path: Path) throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        #expect(try world.send(2, ["event": .string(event), "staleDate": stale]) == "queued")
        try world.run("deliver")
        try world.advance(seconds: 5)
        let token = try world.leaveAndReturn(path)
        try world.advance(seconds: 16)
        #expect(try world.send(3, ["staleDate": stale]) == "queued")
        try world.run("deliver")
        for _ in 1...2 {
            try world.advance(seconds: 1000)
            try world.run("deliver")
        }
        #expect(try world.send(4) == "queued")
        try world.run("deliver")
        #expect(try world.shown()[token] == [3, 4])
        #expect(try world.shown()[2] == (event == "end" ? [2] : [3, 4]))
        #expect(try world.grows())
        #expect(world.spooled().isEmpty)
    }

    @Test("it is not for it either where nothing newer was sent since")
    func cameBackToNothing() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        let stale = JSONValue.integer(world.now / 1000 + 7200)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        _ = try world.send(1, ["staleDate": stale])
        try world.run("deliver")
        _ = try world.leaveAndReturn(.otherSession)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.shown() == [2: [1]])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "a state put off for one activity alone does not follow its session's newer state, whatever the activity shows since",
        arguments: ["other", nil])
    func leftWhilePutOff(session: String?) throws {
        let world = try World()
        try world.listen(1)
        try world.putOffAlone()
        try world.listen(1, to: session)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.send(3, ["activityId": "activity-1"]) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [2, 3]])
        #expect(try world.grows())
        #expect(world.spooled().isEmpty)
    }

    @Test("an activity's timestamps grow through all sessions that it is registered for")
    func sessionAhead() throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1, ["timestamp": .integer(world.now / 1000 + 3000)])
        try world.run("deliver")
        try world.listen(1, to: "other")
        for step in 2...4 {
            try world.advance(seconds: 16)
            #expect(try world.send(step, ["sessionId": "other"]) == "queued")
            try world.run("deliver")
        }
        try world.advance(seconds: 16)
        try world.listen(1, to: nil)
        #expect(try world.send(5, ["activityId": "activity-1"]) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2, 3, 4, 5]])
        #expect(try world.grows())
    }

    @Test(
        "a token whose activity has ended with its session gets nothing more; a new one does",
        arguments: ["other", nil])
    func endedToken(session: String?) throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        _ = try world.send(1, ["event": "end"])
        try world.run("deliver")
        try world.advance(seconds: 60)
        try world.listen(1, to: session)
        #expect(try world.call(2, ["activityId": "activity-1"]).status == 409)
        if let session {
            #expect(try world.call(2, ["sessionId": .string(session)]).status == 409)
        }
        try world.listen(1, to: "final")
        #expect(try world.call(2).status == 409)
        try world.listen(2, to: session, with: 3)
        #expect(try world.send(3, ["activityId": "activity-2"]) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [1], 3: [3]])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "an ended token stays so though its session has ended again for others since",
        arguments: [true, false])
    func endedTwice(isDelivered: Bool) throws {
        let world = try World()
        try world.listen(1)
        _ = try world.send(1, ["event": "end"])
        try world.run("deliver")
        try world.listen(2)
        _ = try world.send(2)
        try world.run("deliver")
        try world.advance(seconds: 60)
        _ = try world.send(3, ["event": "end"])
        if isDelivered { try world.run("deliver") }
        try world.listen(1, to: "other")
        #expect(try world.call(4, ["activityId": "activity-1"]).status == 409)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [2, 3]])
        #expect(world.spooled().isEmpty)
    }

    @Test("an end that may have arrived ends an activity that has left its session since")
    func endInDoubt() throws {
        let world = try World()
        for number in 1...2 { try world.listen(number) }
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": true, "token": .string(token(1)),
            "count": 1,
        ])
        _ = try world.send(1, ["event": "end"])
        // Without a connection it ends for now.
        _ = try world.start("deliver").end()
        try world.listen(1, to: "other")
        #expect(try world.call(2, ["activityId": "activity-1"]).status == 409)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.ends() == [1, 1, 2])
        #expect(try world.shown() == [1: [1, 1], 2: [1]])
        #expect(world.spooled().isEmpty)
    }

    @Test("listeners who never come back give their places and names to others")
    func neverBack() throws {
        let world = try World()
        world.variables["LISTENERS_PER_SESSION"] = "2"
        for number in 1...2 { try world.listen(number) }
        _ = try world.send(1, ["event": "end"])
        try world.run("deliver")
        #expect(throws: TestFailure.self) { try world.listen(3) }
        #expect(throws: TestFailure.self) { try world.registerActivity(token: 3, "activity-1") }
        try world.advance(seconds: 24 * 3600 + 1)
        try world.sweep("sessions", "final")
        for number in 3...4 { try world.listen(number) }
        try world.registerActivity(token: 5, "activity-1")
        #expect(try world.send(2) == "queued")
        try world.run("deliver")
        #expect(try world.shown() == [1: [1], 2: [1], 3: [2], 4: [2]])
    }

    @Test("without a timestamp a state is newer than all before, whatever the clock was")
    func clockAhead() throws {
        let world = try World()
        try world.listen(1)
        try world.advance(seconds: 3000)
        _ = try world.send(1)
        try world.run("deliver")
        try world.advance(seconds: -3000)
        #expect(try world.send(2) != "outdated")
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2]])
        #expect(try world.grows())
    }

    @Test("so it is where one activity alone was sent something while the clock was ahead")
    func aloneAhead() throws {
        let world = try World()
        try world.listen(1)
        try world.advance(seconds: 3000)
        _ = try world.send(1, ["activityId": "activity-1"])
        try world.run("deliver")
        try world.advance(seconds: -3000)
        for step in 2...4 {
            #expect(try world.send(step) != "outdated")
            try world.run("deliver")
            try world.advance(seconds: 15)
            try world.run("deliver")
        }
        #expect(try world.send(5, ["activityId": "activity-1"]) != "outdated")
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.shown() == [1: [1, 2, 3, 4, 5]])
        #expect(try world.grows())
    }
}

extension World {
    /// Lets a cycle come whose turn it is to look at an index.
    fileprivate func sweep(_ shelf: String, _ name: String) throws {
        let place = try #require(["tokens", "activities", "sessions"].firstIndex(of: shelf))
        let turn = Int64(SHA256.hash(Array(name.utf8))[0]) * 4 + Int64(place)
        let present = now / 30_000 % 1031
        try advance(seconds: (turn - present + 1031) % 1031 * 30)
        try run("check-turns")
    }

    /// Registers an activity of a user of its own that shows the session.
    fileprivate func listen(
        _ number: Int, to session: String? = "final", with token: Int? = nil
    ) throws {
        try registerActivity(
            token: token ?? number, "activity-\(number)", session: session, of: "user-\(number)")
    }

    /// Registers the first activity for something else, and for the session again.
    ///
    /// - Returns: the token that it has then.
    fileprivate func leaveAndReturn(_ path: SessionTests.Path) throws -> Int {
        switch path {
        case .otherSession: try listen(1, to: "other")
        case .noSession: try listen(1, to: nil)
        case .newTokens: try listen(1, to: "other", with: 101)
        }
        let token = path == .newTokens ? 102 : 1
        try listen(1, with: token)
        return token
    }

    fileprivate func call(_ step: Int?, _ more: JSONObject = [:]) throws -> Answer {
        try update(
            step.map { ["step": .integer(Int64($0))] }, more,
            of: more["activityId"] ?? more["sessionId"] == nil ? ["sessionId": "final"] : [:])
    }

    fileprivate func send(_ step: Int?, _ more: JSONObject = [:]) throws -> String? {
        try call(step, more).json?.object?["state"]?.string
    }

    /// Does something with the session's lock held.
    fileprivate func holdingSession<Result>(
        _ work: (State, inout Holders) throws -> Result
    ) throws -> Result {
        let state = try openState()
        return try state.sessions["final"].update {
            (holders) throws(Failure) in
            Swift.Result { try work(state, &holders) }
        }.get()
    }

    /// Does something with the lock of a listener's user held.
    fileprivate func holdingUser<Result>(
        _ number: Int, _ work: () throws -> Result
    ) throws -> Result {
        let state = try openState()
        let user = try #require(UserID("user-\(number)"))
        return try state.users[user].update { (_) throws(Failure) in
            Swift.Result { try work() }
        }.get()
    }

    /// Sends the first activity a state that is put off, and then its session a newer one.
    fileprivate func putOffAlone() throws {
        let stale = JSONValue.integer(now / 1000 + 7200)
        try simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try send(1, ["activityId": "activity-1", "staleDate": stale])
        try run("deliver")
        try advance(seconds: 16)
        #expect(try send(2, ["staleDate": stale]) == "queued")
        try run("deliver")
    }

    /// Waits until a program has opened a lock in a folder.
    func wait(for program: RunningProgram, toOpen folder: String) throws {
        let files = "/proc/\(program.id)/fd"
        for _ in 0..<3000 {
            for file in try FileManager.default.contentsOfDirectory(atPath: files) {
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "\(files)/\(file)")
                if let target, target.contains("/\(folder)/"), target.hasSuffix(".lock") { return }
            }
            usleep(1000)
        }
        throw TestFailure("the program opens no lock")
    }

    /// The activities that have ended.
    fileprivate func ends() throws -> [Int] {
        try taken().filter { $0.aps["event"] == "end" }.map { $0.activity }.sorted()
    }

    private func taken(
        by gateway: Simulator? = nil
    ) throws -> [(activity: Int, aps: JSONObject)] {
        let numbers = Dictionary(uniqueKeysWithValues: (1...200).map { (token($0), $0) })
        let pushes = try (gateway ?? simulator).pushes()
        return pushes.filter { $0["accepted"] == true }.compactMap { push in
            guard let number = push["token"]?.string.flatMap({ numbers[$0] }),
                let aps = push["payload"]?.object?["aps"]?.object
            else { return nil }
            return (number, aps)
        }
    }

    /// By activity, the steps that it has shown.
    fileprivate func shown(in gateway: Simulator? = nil) throws -> [Int: [Int64]] {
        var steps: [Int: [Int64]] = [:]
        for (activity, aps) in try taken(by: gateway) {
            guard let step = aps["content-state"]?.object?["step"]?.integer else { continue }
            steps[activity, default: []].append(step)
        }
        return steps
    }

    /// Whether each activity's timestamps grow.
    fileprivate func grows() throws -> Bool {
        var last: [Int: Int64] = [:]
        for (activity, aps) in try taken() {
            guard let seconds = aps["timestamp"]?.integer, seconds > last[activity] ?? 0 else {
                return false
            }
            last[activity] = seconds
        }
        return true
    }
}

extension [[Int: [Int64]]] {
    fileprivate var merged: [Int: [Int64]] { reduce(into: [:]) { $0.merge($1) { $1 } } }
}
