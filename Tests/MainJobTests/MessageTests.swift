import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// Messages of an app's own backend, from its request to each device's receipt.
@Suite struct MessageTests {
    @Test("of ten thousand devices each has the receipt of what happened to it")
    func mixed() throws {
        let world = try World()
        let users = (0..<2499).map { "user-\($0)" }
        for (number, user) in users.enumerated() {
            try world.give(user, devices: number * 4..<number * 4 + 4)
        }
        var expected: [String: String] = [:]
        for number in 0..<9996 {
            expected[try publicID(number)] = try world.arrange(number)
        }
        let id = try world.sent([
            "users": .array(users.map { .string($0) }), "title": "To all", "expires_in": 86_400,
        ])
        #expect(try world.report(id)["state"] == "waiting")
        for pause in [0, 30, 1200, 3600] {
            try world.advance(seconds: Int64(pause))
            try world.run("deliver")
        }
        #expect(world.spooled().isEmpty)

        let report = try world.report(id)
        #expect(report["state"] == "done")
        let devices = report["devices"]?.array?.compactMap { $0.object } ?? []
        #expect(devices.count == 9996)
        for device in devices {
            let name = try #require(device["id"]?.string)
            #expect(device["state"]?.string == expected.removeValue(forKey: name), "\(device)")
        }
        #expect(expected.isEmpty)
        var ids: [String: String] = [:]
        var accepted: Set<String> = []
        for push in try world.simulator.pushes() {
            let token = try #require(push["token"]?.string)
            let id = try #require(push["apns_id"]?.string)
            #expect(ids.updateValue(id, forKey: token) ?? id == id)
            if push["accepted"] == true { #expect(accepted.insert(token).inserted) }
        }
        #expect(Set(ids.values).count == 9996)
    }

    @Test("one idempotency key in fifty processes at once makes one message")
    func fiftyProcesses() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        let event = world.message(
            "POST", "/api/notify", ["users": ["ann"], "title": "Once"], key: "order-1")
        let programs = try (0..<50).map { _ in try world.startBackend("notify", event) }
        let answers = try programs.map { try Answer(event: $0.end().stdout) }
        for answer in answers { #expect(answer.status == 202, "\(answer.body)") }
        #expect(Set(answers.map(\.body)).count == 1)
        #expect(world.spooled().count == 1)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 3)

        // Delivered long ago, it is still the same message; a day later it is another one.
        try world.advance(seconds: 86_399)
        let body: JSONObject = ["users": ["ann"], "title": "Once"]
        #expect(try world.notify(body, key: "order-1").body == answers[0].body)
        #expect(try world.notify(["users": ["ann"], "title": "Two"], key: "order-1").status == 422)
        #expect(world.spooled().isEmpty)
        try world.advance(seconds: 1)
        let later = try world.notify(body, key: "order-1")
        #expect(later.status == 202 && later.body != answers[0].body)
    }

    @Test("a process that is killed while it accepts leaves no second message behind")
    func killed() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        for round in 0..<60 {
            let body: JSONObject = ["users": ["ann"], "title": .string("Round \(round)")]
            let event = world.message("POST", "/api/notify", body, key: "round-\(round)")
            let program = try world.startBackend("notify", event)
            usleep(UInt32(round * 97 % 6000))
            program.send(SIGKILL)
            _ = try program.end()
            if round % 3 == 0 { try world.run("deliver") }
            #expect(try world.notify(body, key: "round-\(round)").status == 202)
        }
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 180)
        #expect(try world.simulator.apns()["distinct_ids"] == 180)
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "a request that failed half-way and is repeated counts once, over midnight and after others",
        arguments: [0, 12 * 3600], [0, 20])
    func halfWay(seconds: Int64, others: Int) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.advance(seconds: 11 * 3600)
        let body: JSONObject = ["users": ["ann"], "title": "Once", "badge": "+1"]
        // The badge has changed by then, and nothing is accepted: as if the process had been killed.
        let obstacle = "spool/apns/ready/normal"
        try world.state.write([], to: obstacle)
        #expect(try world.notify(body, key: "order-1").status >= 500)
        try world.state.remove(obstacle)
        for _ in 0..<others {
            _ = try world.sent(["users": ["ann"], "title": "Other", "badge": "+1"])
        }
        try world.advance(seconds: seconds)
        let first = try world.notify(body, key: "order-1")
        #expect(first.status == 202, "\(first.body)")
        try world.advance(seconds: 43_199)
        #expect(try world.notify(body, key: "order-1").body == first.body)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == others + 1)
        let user = try #require(UserID("ann"))
        #expect(try world.openState().users[user].read()?.badge == Int64(others + 1))
        #expect(world.state.files().keys.allSatisfy { !$0.hasSuffix(".claim") })
    }

    @Test("a report says nothing about receipts that were removed", arguments: [0, 20])
    func forgotten(daysHeld: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let end = Timestamp(milliseconds: world.now) + .days(daysHeld)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let id = try world.sent(["users": ["ann"], "title": "A"])
        for _ in 0..<30 {
            try world.run("deliver")
            try world.advance(seconds: 86_400)
        }
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "done")
        try world.advance(seconds: 86_400)
        try world.run("deliver")
        if daysHeld > 0 {
            #expect(try world.report(id)["counts"] == ["accepted": 1])
            #expect(try world.report(id)["state"] == "done")
            try world.advance(seconds: 20 * 86_400)
            try world.run("deliver")
        }
        #expect(throws: TestFailure.self) { try world.report(id) }
        #expect(try world.callOff(id).status == 404)
    }

    @Test("a message cancelled before its time is never sent", arguments: [false, true])
    func calledOffInTime(isDrainerRunning: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        if isDrainerRunning { world.variables["DELIVER_LINGER_SECONDS"] = "60" }
        let drainer = isDrainerRunning ? try world.start("deliver") : nil
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(world.now / 1000 + 600),
        ])
        #expect(try world.report(id)["state"] == "waiting")
        let answer = try world.callOff(id)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.json?.object?["state"] == "cancelled")
        #expect(answer.json?.object?["counts"] == ["cancelled": 3])
        drainer?.send(SIGTERM)
        _ = try drainer?.end()
        world.variables["DELIVER_LINGER_SECONDS"] = "0"
        try world.advance(seconds: 700)
        try world.run("deliver")
        #expect(try world.simulator.apns()["requests"] == 0)
        #expect(world.spooled().isEmpty)
        #expect(try world.report(id)["state"] == "cancelled")
        #expect(try world.callOff(id).status == 200)
    }

    @Test("nothing is sent before its time, and a sent message cannot be cancelled")
    func sentInTime() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        let moment = world.now / 1000 + 60
        let id = try world.sent([
            "users": ["ann"], "title": "Later", "send_after": .integer(moment),
        ])
        try world.advance(seconds: 59)
        try world.run("deliver")
        #expect(try world.simulator.apns()["requests"] == 0)
        try world.advance(seconds: 1)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 3)
        #expect(try world.callOff(id).status == 409)
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        #expect(world.spooled().isEmpty)
    }

    @Test("at the moment of sending each push is sent or called off, and its receipt says which")
    func race() throws {
        let world = try World()
        try world.give("ann", devices: 1...40)
        var outcomes: Set<String> = []
        for round in 0..<40 {
            let id = try world.sent([
                "users": ["ann"], "title": .string("\(round)"),
                "send_after": .integer(world.now / 1000 + 1),
            ])
            try world.advance(seconds: 1)
            let before = try world.acceptedIDs().count
            let drainer = try world.start("deliver")
            usleep(UInt32(round * 2500 % 60_000))
            let answer = try world.callOff(id)
            _ = try drainer.end()
            try world.run("deliver")
            let report = try world.report(id)
            let counts = try #require(report["counts"]?.object)
            let accepted = counts["accepted"]?.integer ?? 0
            let cancelled = counts["cancelled"]?.integer ?? 0
            #expect(accepted + cancelled == 40, "\(counts)")
            #expect(try world.acceptedIDs().count - before == Int(accepted))
            switch answer.status {
            case 200:
                #expect(cancelled > 0)
                #expect(answer.json?.object?["counts"] == .object(counts))
            case 409: #expect(cancelled == 0)
            default: #expect(answer.status == 202, "\(answer.body)")
            }
            outcomes.formUnion(counts.members.map(\.name))
        }
        #expect(outcomes == ["accepted", "cancelled"])
        #expect(world.spooled().isEmpty)
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/cancelled/") })
    }

    @Test("a push whose answer was lost is not cancelled but sent again")
    func inDoubt() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "reset", "code": 2, "accepted": true,
            "token": .string(token(1)),
            "count": 1,
        ])
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(2)), "count": 1,
        ])
        let id = try world.sent(["users": ["ann"], "title": "T"])
        try world.run("deliver")
        let answer = try world.callOff(id)
        #expect(answer.status == 202, "\(answer.body)")
        #expect(answer.json?.object?["state"] == "cancelling")
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 2, "cancelled": 1])
        #expect(world.spooled().isEmpty)
    }
}

extension World {
    /// Lets APNs think something of a device.
    ///
    /// - Returns: the outcome of a push to it.
    fileprivate func arrange(_ number: Int) throws -> String {
        let token = JSONValue.string(token(number))
        switch number % 20 {
        case 0:
            try simulator.perform([
                "do": "token", "token": token, "is": "gone", "since": .integer(now + 1),
            ])
            return "gone"
        case 1:
            try simulator.perform(["do": "token", "token": token, "is": "bad"])
            return "quarantined"
        case 2, 3:
            let status: Int64 = number % 20 == 2 ? 429 : 503
            try simulator.perform([
                "do": "apns-fault", "status": .integer(status), "token": token, "count": 1,
            ])
            return "accepted"
        default: return "accepted"
        }
    }
}

private func publicID(_ number: Int) throws -> String {
    guard let token = DeviceToken(token(number)) else { throw TestFailure("no token") }
    return Device(token, registered: Timestamp(milliseconds: 0)).id
}
