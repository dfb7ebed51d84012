import JSON
import TestSupport
import Testing
import Turnstone

@testable import Store

#if canImport(Glibc)
    import Glibc
#endif

/// A Live Activity's updates, from many processes to APNs.
@Suite struct LiveActivityTests {
    @Test(
        "of forty updates in a minute one goes out every 15 s, the newest, and at last the end",
        arguments: [false, true])
    func fortyUpdates(isDeliverKilled: Bool) throws {
        let world = try World()
        try world.registerActivity()
        let start = world.now / 1000
        for number in 1...40 {
            #expect(try world.update(["step": .integer(Int64(number))]).status == 202)
            if isDeliverKilled { try world.killDeliver(after: number * 3 % 40) }
            try world.run("deliver")
            try world.advance(seconds: Int64(number % 2 + 1))
        }
        #expect(try world.update(["step": 41], ["event": "end"]).status == 202)
        try world.run("deliver")
        // A state held when it ended stays where it can no longer be taken.
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(world.spooled().isEmpty)

        let pushes = try world.activityPushes()
        let steps = pushes.map { $0.step }
        #expect(steps.first == 1 && steps.last == 41)
        #expect(steps == steps.sorted())
        #expect(pushes.map { $0.event } == ["update", "update", "update", "update", "end"])
        for (earlier, later) in zip(pushes, pushes.dropFirst()) {
            #expect(later.timestamp > earlier.timestamp)
            if later.event != "end" { #expect(later.time - earlier.time >= 15_000) }
        }
        // The state that was the newest when the window opened.
        for push in pushes.dropFirst().dropLast() {
            #expect(push.time / 1000 - push.timestamp <= 2, "\(push)")
        }
        #expect(pushes.first?.timestamp == start)
    }

    @Test("eight processes at once leave the newest state, whoever wrote it")
    func eightProcesses() throws {
        let world = try World()
        try world.registerActivity()
        _ = try world.update(["step": 0])
        try world.run("deliver")
        try world.advance(seconds: 1)
        let second = world.now / 1000
        let updates = (1...8).shuffled()
        let programs = try updates.map { number in
            try world.start(
                "live-activity",
                world.updating(
                    ["step": .integer(Int64(number))],
                    ["timestamp": .number(JSONNumber(Double(second) + Double(number) / 10))]))
        }
        for program in programs {
            #expect(try Answer(event: program.end().stdout).status == 202)
        }
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.activityPushes().map { $0.step } == [0, 8])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "a call that waits while the activity's token goes, or another one takes its place, means what is there then",
        arguments: [nil, 2])
    func meanwhile(newToken: Int?) throws {
        let world = try World()
        try world.registerActivity()
        let name = try #require(UserID("ann"))
        let call = try world.openState().users[name].update { (document) throws(Failure) in
            Result { () throws -> RunningProgram in
                let call = try world.start("live-activity", world.updating(["step": 1]))
                try world.wait(for: call, toOpen: "users")
                let former = document.devices.removeFirst()
                if let newToken {
                    var device = Device(
                        try #require(DeviceToken(token(newToken))),
                        registered: Timestamp(milliseconds: world.now))
                    device.kind = former.kind
                    device.firstID = former.id
                    document.devices.append(device)
                }
                return call
            }
        }.get()
        #expect(try Answer(event: call.end().stdout).status == (newToken == nil ? 404 : 202))
        try world.run("deliver")
        let pushes = try world.simulator.pushes().map { $0["token"] }
        #expect(pushes == (newToken.map { [.string(token($0))] } ?? []))
    }

    @Test(
        "a busy gateway gets the same state again, unless a newer one is known", arguments: [1, 2])
    func busy(states: Int) throws {
        let world = try World()
        try world.registerActivity()
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        for number in 1...states {
            _ = try world.update(["step": .integer(Int64(number))])
            try world.run("deliver")
        }
        try world.advance(seconds: 16)
        try world.run("deliver")
        #expect(try world.activityPushes().map { $0.step } == [Int64(states)])
        let outcomes = try world.receipts().compactMap { $0["outcome"]?.string }
        #expect(Set(outcomes) == (states == 1 ? ["accepted"] : ["accepted", "superseded"]))
    }

    @Test(
        "a state that is held goes to the token that the activity has when its window opens",
        arguments: [false, true])
    func rotated(twice: Bool) throws {
        let world = try World()
        if twice { try world.registerActivity(token: 3) }
        try world.registerActivity()
        _ = try world.update(["step": 1])
        try world.run("deliver")
        #expect(try world.update(["step": 2]).json?.object?["state"] == "held")
        try world.registerActivity(token: 2)
        try world.advance(seconds: 15)
        try world.run("deliver")
        let tokens = try world.simulator.pushes().map { $0["token"]?.string }
        #expect(tokens == [token(1), token(2)])
        #expect(try world.activityPushes().map { $0.step } == [1, 2])
        #expect(world.spooled().isEmpty)
    }

    @Test("what an activity has ended with does not wait for its window")
    func end() throws {
        let world = try World()
        try world.registerActivity()
        _ = try world.update(["step": 1])
        try world.run("deliver")
        #expect(try world.update(["step": 2]).json?.object?["state"] == "held")
        #expect(try world.update(nil, ["event": "end"]).json?.object?["state"] == "queued")
        try world.run("deliver")
        let pushes = try world.activityPushes()
        #expect(pushes.map { $0.step } == [1, 2])
        #expect(pushes.map { $0.event } == ["update", "end"])
        #expect(try world.update(["step": 3]).status == 409)
    }

    @Test(
        "an end with the state that is known fits, or says at once that it does not",
        arguments: Array(stride(from: 3950, through: 4096, by: 6)))
    func largeEnd(size: Int) throws {
        let world = try World()
        try world.registerActivity()
        let text = String(repeating: "a", count: size - 100)
        guard try world.update(["step": 1, "text": .string(text)]).status == 202 else { return }
        try world.run("deliver")
        let answer = try world.update(nil, ["event": "end"])
        try world.run("deliver")
        let ends = { try world.activityPushes().filter { $0.event == "end" } }
        if answer.status == 202 {
            #expect(try ends().count == 1)
            return
        }
        #expect(answer.status == 413, "\(answer.body)")
        #expect(try world.update(["step": 2], ["event": "end"]).status == 202)
        try world.run("deliver")
        #expect(try ends().map { $0.step } == [2])
    }

    @Test(
        "an alert that APNs would refuse is refused at the door, and the activity can still end",
        arguments: [
            #""title": "a", "body": "b", "launch-image": 5"#, #""title": "a", "body": {}"#,
            #""title": {"loc-key": 5}, "body": "b""#, #""title": "a", "body": "b", "sound": {}"#,
            #""title": "a", "body": "b", "loc-args": [null]"#, #""title": "a", "body": 1"#,
            #""title": "a", "body": "b", "subtitle": 5"#,
            #""title": "a", "body": "b", "more": "c""#,
            #""title": null, "body": "b""#,
        ])
    func wrongAlert(members: String) throws {
        let world = try World()
        try world.registerActivity()
        let alert = try JSON.parse(Array("{\(members)}".utf8))
        for event in ["update", "end"] as [JSONValue] {
            let answer = try world.update(["step": 1], ["event": event, "alert": alert])
            #expect(answer.status == 400 && answer.body.contains("alert"), "\(answer.body)")
        }
        #expect(try world.update(["step": 2], ["event": "end"]).status == 202)
        try world.run("deliver")
        #expect(try world.activityPushes().map { $0.step } == [2])
    }

    @Test("an alert's title and body may be keys of the app's own texts; null is nothing")
    func localAlert() throws {
        let world = try World()
        try world.registerActivity()
        let title: JSONValue = ["loc-key": "T", "loc-args": ["1"]]
        let alert: JSONValue = ["title": title, "body": ["loc-key": "B"], "subtitle": .null]
        _ = try world.update(["step": 1], ["alert": alert, "sound": "ding"])
        try world.run("deliver")
        let payload = try world.simulator.pushes().last?["payload"]?.object
        #expect(try world.simulator.pushes().last?["accepted"] == true)
        #expect(
            payload?["aps"]?.object?["alert"] == [
                "title": title, "body": ["loc-key": "B"], "sound": "ding",
            ])
    }

    @Test(
        "a moment that is too far away for APNs arrives as the last one possible",
        arguments: ["staleDate", "dismissalDate"], [9_999_999_999, 10_000_000_000, 64_092_211_200])
    func distantFuture(member: String, seconds: Int64) throws {
        let world = try World()
        try world.registerActivity()
        let answer = try world.update(
            ["step": 1], ["event": "end", member: .integer(seconds)])
        #expect(answer.status == 202, "\(answer.body)")
        try world.run("deliver")
        #expect(try world.activityPushes().map { $0.step } == [1])
        let aps = try world.simulator.pushes().last?["payload"]?.object?["aps"]?.object
        #expect(
            aps?[member == "staleDate" ? "stale-date" : "dismissal-date"] == 9_999_999_999)
    }

    @Test("an alert whose push is put off goes out with the update that takes its place")
    func alertPutOff() throws {
        let world = try World()
        try world.registerActivity()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let alert: JSONValue = ["title": "Final", "body": "It begins"]
        _ = try world.update(["step": 1], ["alert": alert, "priority": 10])
        try world.run("deliver")
        try world.advance(seconds: 16)
        _ = try world.update(["step": 2])
        try world.run("deliver")
        try world.advance(seconds: 16)
        _ = try world.update(["step": 3])
        try world.run("deliver")
        let taken = try world.simulator.pushes().filter { $0["accepted"] == true }
        let alerts = taken.map { $0["payload"]?.object?["aps"]?.object?["alert"] }
        #expect(try world.activityPushes().map { $0.step } == [2, 3])
        #expect(alerts == [alert, nil])
    }

    @Test(
        "an alert that is put off goes out with the next update, though its own turn comes before",
        arguments: [6, 10, 14])
    func alertDueSooner(seconds: Int64) throws {
        let world = try World()
        try world.registerActivity()
        try world.simulator.perform(
            ["do": "apns-fault", "status": 429, "count": 1, "retry_after": 5])
        let alert: JSONValue = ["title": "Final", "body": "It begins"]
        _ = try world.update(["step": 1], ["alert": alert, "priority": 10])
        try world.run("deliver")
        try world.advance(seconds: 1)
        _ = try world.update(["step": 2])
        try world.advance(seconds: seconds - 1)
        try world.run("deliver")
        try world.advance(seconds: 60)
        try world.run("deliver")
        let taken = try world.simulator.pushes().filter { $0["accepted"] == true }
        let alerts = taken.map { $0["payload"]?.object?["aps"]?.object?["alert"] }
        #expect(alerts.filter { $0 == alert }.count == 1, "\(taken)")
        #expect(try world.activityPushes().last?.step == 2)
    }

    @Test("a long alert that is put off is cut again for the update that takes its place")
    func longAlert() throws {
        let world = try World()
        try world.registerActivity()
        try world.simulator.perform(
            ["do": "apns-fault", "status": 429, "count": 1, "retry_after": 5])
        let alert: JSONValue = [
            "title": "Final", "body": .string(String(repeating: "x", count: 5000)),
        ]
        _ = try world.update(["step": 1], ["alert": alert, "priority": 10])
        try world.run("deliver")
        try world.advance(seconds: 1)
        _ = try world.update(["step": 2, "more": .string(String(repeating: "y", count: 500))])
        for _ in 1...2 {
            try world.advance(seconds: 20)
            try world.run("deliver")
        }
        let last = try #require(try world.simulator.pushes().last { $0["accepted"] == true })
        let body = last["payload"]?.object?["aps"]?.object?["alert"]?.object?["body"]?.string
        #expect((2900...3500).contains(body?.utf8.count ?? 0), "\(last)")
        #expect(try world.activityPushes().last?.step == 2)
    }

    @Test("an alert that is held goes out with the update that takes its place, unless it has one")
    func heldAlert() throws {
        let world = try World()
        try world.registerActivity()
        _ = try world.update(["step": 1])
        try world.run("deliver")
        let alert: JSONValue = ["title": "Your move", "body": "Ann has played"]
        _ = try world.update(["step": 2], ["alert": alert, "priority": 10, "sound": "ding"])
        _ = try world.update(["step": 3])
        try world.advance(seconds: 15)
        try world.run("deliver")
        _ = try world.update(["step": 4])
        try world.advance(seconds: 15)
        try world.run("deliver")
        let pushes = try world.simulator.pushes()
        let alerts = pushes.map { $0["payload"]?.object?["aps"]?.object?["alert"] }
        #expect(
            alerts == [
                nil, ["title": "Your move", "body": "Ann has played", "sound": "ding"], nil,
            ])
        #expect(try world.activityPushes().map { $0.step } == [1, 3, 4])
        #expect(pushes.map { $0["headers"]?.object?["apns-priority"] } == ["5", "10", "5"])
    }

    @Test(
        "a state goes out though it is out of date when it is sent", arguments: [-3600, 0, 5])
    func stale(seconds: Int64) throws {
        let world = try World()
        try world.registerActivity()
        for step in Int64(1)...2 {
            let stale = world.now / 1000 + seconds
            _ = try world.update(["step": .integer(step)], ["staleDate": .integer(stale)])
            try world.run("deliver")
        }
        try world.advance(seconds: 15)
        try world.run("deliver")
        #expect(try world.activityPushes().map { $0.step } == [1, 2])
    }
}

extension World {
    /// A push as the stand-in got it.
    fileprivate struct ActivityPush {
        let time: Int64
        let timestamp: Int64
        let event: String
        let step: Int64
    }

    func registerActivity(
        token number: Int = 1, _ activity: String? = "build-7", session: String? = nil,
        previous: Int? = nil, of name: String = "ann"
    ) throws {
        variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        variables["JWT_SECRET"] = jwtSecret
        var body: JSONObject = [
            "token": .string(token(number)), "tokenType": "live_activity",
        ]
        body["activityId"] = activity.map { .string($0) }
        body["sessionId"] = session.map { .string($0) }
        body["previousToken"] = previous.map { .string(token($0)) }
        let event: JSONValue = [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer(name))], "body": .object(body),
        ]
        let answer = try Answer(event: start("push-register", event).end().stdout)
        guard answer.status == 200 else { throw TestFailure("\(answer.status) \(answer.body)") }
    }

    func updating(
        _ state: JSONObject?, _ more: JSONObject = [:],
        of target: JSONObject = ["activityId": "build-7"]
    ) -> JSONValue {
        var body = target
        body["contentState"] = state.map { .object($0) }
        for member in more.members { body[member.name] = member.value }
        return [
            "method": "POST", "path": "/api/push/live-activity",
            "headers": ["Authorization": .string("Key \(World.serverKey)")], "body": .object(body),
        ]
    }

    func update(
        _ state: JSONObject?, _ more: JSONObject = [:],
        of target: JSONObject = ["activityId": "build-7"]
    ) throws -> Answer {
        try Answer(event: start("live-activity", updating(state, more, of: target)).end().stdout)
    }

    fileprivate func killDeliver(after milliseconds: Int) throws {
        let program = try start("deliver")
        usleep(UInt32(milliseconds) * 1000)
        program.send(SIGKILL)
        _ = try program.end()
    }

    /// The accepted pushes, repeats with a lost answer once.
    fileprivate func activityPushes() throws -> [ActivityPush] {
        var ids: Set<String> = []
        return try simulator.pushes().filter { $0["accepted"] == true }.compactMap { push in
            guard let id = push["apns_id"]?.string, ids.insert(id).inserted,
                let aps = push["payload"]?.object?["aps"]?.object,
                let time = push["time"]?.integer, let timestamp = aps["timestamp"]?.integer,
                let event = aps["event"]?.string,
                let step = aps["content-state"]?.object?["step"]?.integer
            else { return nil }
            return ActivityPush(time: time, timestamp: timestamp, event: event, step: step)
        }
    }
}
