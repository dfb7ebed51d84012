import JSON
import Store
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// What changes between the acceptance of a message and the moment of sending it.
@Suite struct SendingTests {
    /// Why a message is not sent when it is accepted.
    enum Delay: CaseIterable, Sendable {
        case scheduled, busyGateway, throttled
    }

    /// A message to ann that waits. ``goOn(_:)`` lets it be sent.
    private func begin(
        _ delay: Delay, _ more: JSONObject = [:], devices: ClosedRange<Int> = 1...1
    ) throws -> (world: World, id: String) {
        let world = try World()
        try world.give("ann", devices: devices)
        var body: JSONObject = ["users": ["ann"], "title": "Hello", "kind": "chat"]
        for member in more.members { body[member.name] = member.value }
        switch delay {
        case .scheduled: body["send_after"] = .integer(world.now / 1000 + 1200)
        case .busyGateway, .throttled:
            try world.simulator.perform([
                "do": "apns-fault", "status": delay == .throttled ? 429 : 503,
                "count": .integer(Int64(devices.count)),
            ])
        }
        let id = try world.sent(body)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        return (world, id)
    }

    private func goOn(_ world: World) throws {
        try world.advance(seconds: 2400)
        try world.run("deliver")
    }

    /// The states and reasons of a report's devices.
    private func states(_ world: World, _ id: String) throws -> [[JSONValue?]] {
        try world.report(id)["devices"]?.array?.map { device in
            [device.object?["state"], device.object?["reason"]]
        } ?? []
    }

    @Test(
        "a phone that is not the user's any more gets nothing", arguments: Delay.allCases,
        [false, true])
    func lostPhone(delay: Delay, isClaimed: Bool) throws {
        let (world, id) = try begin(delay)
        if isClaimed {
            try world.claim(1, for: "bob")
        } else {
            try world.unbind(1, from: "ann")
        }
        try goOn(world)
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try states(world, id) == [["superseded", "unregistered"]])
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "the push goes to the token that took the place of the old one", arguments: Delay.allCases)
    func newToken(delay: Delay) throws {
        let (world, id) = try begin(delay)
        let line = try world.report(id)["devices"]?.array?.first?.object?["id"]
        try world.claim(2, for: "ann", insteadOf: 1)
        try world.claim(3, for: "ann", insteadOf: 2)
        try goOn(world)
        let accepted = try world.simulator.pushes().filter { $0["accepted"] == true }
        #expect(accepted.map { $0["token"] } == [.string(token(3))])
        let report = try world.report(id)
        #expect(report["counts"] == ["accepted": 1])
        #expect(report["devices"]?.array?.map { $0.object?["id"] } == [line])
    }

    @Test("a kind that was switched off is not sent", arguments: Delay.allCases)
    func unwanted(delay: Delay) throws {
        let (world, id) = try begin(delay)
        try world.change("ann") { $0.preferences.kinds = ["chat": false] }
        try goOn(world)
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try states(world, id) == [["superseded", "unwanted"]])
    }

    @Test(
        "a mute that began meanwhile is obeyed, and ends", arguments: Delay.allCases, [false, true])
    func muted(delay: Delay, isUrgent: Bool) throws {
        let (world, id) = try begin(
            delay, isUrgent ? ["interruption_level": "time-sensitive"] : [:])
        let end = Timestamp(milliseconds: world.now) + .hours(8)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        try goOn(world)
        #expect(try world.acceptedIDs().count == (isUrgent ? 1 : 0))
        try world.advance(seconds: 7 * 3600)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == (isUrgent ? 1 : 0))
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(world.spooled().isEmpty)
    }

    @Test("quiet hours begin without a change of anything")
    func quiet() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        // 12:00 UTC now.
        try world.change("ann") {
            $0.preferences.quietHours = QuietHours(from: 12 * 60 + 10, to: 20 * 60, zone: "UTC")
        }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.run("deliver")
        try goOn(world)
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.callOff(id).status == 200, "it has not been sent")
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
    }

    @Test("an older message does not follow a newer one", arguments: ["collapse_id", "subject"])
    func overtaken(member: String) throws {
        let (world, first) = try begin(.busyGateway, [member: "x"], devices: 1...2)
        // One of the two devices gets the newer one.
        let second = try world.sent(["devices": [.string(token(1))], "title": "New", member: "x"])
        let other = try world.sent(["users": ["ann"], "title": "Other", member: "y"])
        try world.run("deliver")
        try goOn(world)
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(try world.report(other)["counts"] == ["accepted": 2])
        #expect(try world.report(first)["counts"] == ["accepted": 1, "superseded": 1])
        #expect(try states(world, first).contains(["superseded", "newer"]))
        let titles = try world.simulator.pushes().filter {
            $0["accepted"] == true && $0["token"] == .string(token(1))
        }.map { $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"] }
        #expect(Set(titles.compactMap { $0?.string }) == ["New", "Other"] && titles.count == 2)
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/series/") })
    }

    @Test("a message to all that replaced one stays known until that one is over")
    func overtakenByOneToAll() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("bob", devices: 2...2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let first = try world.sent(["users": ["bob"], "title": "Old", "collapse_id": "x"])
        try world.run("deliver")
        _ = try world.sent(["users": ["ann", "bob"], "title": "New", "collapse_id": "x"])
        try world.run("deliver")
        _ = try world.sent(["users": ["ann"], "title": "Another", "collapse_id": "x"])
        try world.run("deliver")
        try goOn(world)
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/series/") })
    }

    @Test("a clock that is set back puts no older message over a newer one")
    func clockSetBack() throws {
        let (world, first) = try begin(.busyGateway, ["collapse_id": "x"])
        try world.advance(seconds: -300)
        // What waited for a moment ahead of the clock is tried at once.
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let second = try world.sent(["users": ["ann"], "title": "New", "collapse_id": "x"])
        try world.run("deliver")
        try goOn(world)
        try goOn(world)
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(try world.report(first)["counts"] == ["superseded": 1])
    }

    @Test("a kind that was switched off while a message was held is not sent")
    func unwantedWhileHeld() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let id = try world.sent(["users": ["ann"], "title": "Hello", "kind": "chat"])
        try world.change("ann") { $0.preferences.kinds = ["chat": false] }
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try states(world, id) == [["superseded", "unwanted"]])
    }

    @Test("two devices that became one get a message once")
    func becameOne() throws {
        let (world, id) = try begin(.scheduled, devices: 1...2)
        try world.claim(2, for: "ann", insteadOf: 1)
        try goOn(world)
        #expect(try world.report(id)["counts"] == ["accepted": 1, "superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("a message held for two devices of a user reaches both")
    func heldForTwo() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let tokens: [JSONValue] = [.string(token(1)), .string(token(2))]
        let id = try world.sent(["devices": .array(tokens), "title": "Hello"])
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 2])
        #expect(try world.acceptedIDs().count == 2)
    }

    @Test("an older message waits for what became of a newer one that may have arrived")
    func newerInDoubt() throws {
        let (world, first) = try begin(.busyGateway, ["collapse_id": "x"])
        try world.advance(seconds: 1200)
        let second = try world.sent([
            "users": ["ann"], "title": "New", "collapse_id": "x",
            "interruption_level": "time-sensitive",
        ])
        for _ in 0..<4 {
            try world.run("deliver")
            try world.advance(seconds: 1200)
        }
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(try world.report(first)["counts"] == ["superseded": 1])
    }

    @Test("a clear that was delivered cancels the request that was not")
    func clearedRequest() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let values: JSONObject = ["requestId": "r-1", "toolName": "Bash", "action": "npm test"]
        let request = try world.post(event: "approval_request", values, to: "ann")
        try world.run("deliver")
        let clear = try world.post(event: "approval_cleared", ["requestId": "r-1"], to: "ann")
        try world.run("deliver")
        try goOn(world)
        #expect(request.status == 202 && clear.status == 202)
        #expect(
            try world.simulator.pushes().filter { $0["accepted"] == true }.map {
                $0["payload"]?.object?["clearApprovalId"]
            } == ["r-1"])
    }

    @Test("a push that may have arrived stays in doubt, whatever a later answer says")
    func alwaysInDoubt() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
        ])
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        let drainer = try world.start("deliver")
        #expect(try world.simulator.waitForPushes(1))
        drainer.send(SIGKILL)
        _ = try drainer.end()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        let answer = try world.callOff(id)
        #expect(answer.status == 202, "it may have arrived: \(answer.body)")
    }

    @Test("a message held for one device goes to no other one")
    func heldForOne() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        let end = Timestamp(milliseconds: world.now) + .hours(8)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let one = try world.sent(["devices": [.string(token(2))], "title": "One"])
        let both = try world.sent(["users": ["ann"], "title": "Both"])
        try world.advance(seconds: 8 * 3600)
        try world.run("deliver")
        try world.run("deliver")
        #expect(try world.report(one)["counts"] == ["accepted": 1])
        #expect(try world.report(both)["counts"] == ["accepted": 2])
        let other = try world.simulator.pushes().filter { $0["token"] == .string(token(1)) }
        let title = other.first?["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]
        #expect(other.count == 1 && title == "Both")
    }

    @Test("what expires while it is held is not sent, and its report says so")
    func expiredWhileHeld() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let id = try world.sent(["users": ["ann"], "title": "Taxi is here", "expires_in": 600])
        let other = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["expired": 2])
        #expect(try world.report(other)["counts"] == ["accepted": 2])
        let pushes = try world.simulator.pushes()
        #expect(pushes.allSatisfy { $0["payload"]?.object?["merged"] == nil })
    }

    @Test("a held message whose user has no device in the morning ends")
    func heldForNobody() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        let end = Timestamp(milliseconds: world.now) + .hours(8)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        let id = try world.sent(["users": ["ann"], "title": "One"])
        try world.change("ann") { $0.devices = [] }
        try world.advance(seconds: 8 * 3600)
        try world.run("deliver")
        let report = try world.report(id)
        #expect(report["state"] == "done")
        #expect(report["counts"] == ["superseded": 2])
        #expect(try world.acceptedIDs().isEmpty)
    }
}

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
}

extension World {
    func openState() throws -> State {
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", state.path)
        return try State(settings)
    }

    /// Changes a user's document as a program would.
    func change(_ name: String, _ change: (inout User) -> Void) throws {
        guard let user = UserID(name) else { throw TestFailure("\(name) is no user's id") }
        try openState().users.update(DocumentName(user)) { change(&$0) }
    }

    /// Registers the token of a number for a user alone.
    func claim(_ number: Int, for name: String, insteadOf previous: Int? = nil) throws {
        let before = previous.flatMap { DeviceToken(token($0)) }
        guard let user = UserID(name), let token = DeviceToken(token(number)) else {
            throw TestFailure("no registration of \(number) for \(name)")
        }
        var registration = Registration(token)
        registration.previous = before
        // What `give` wrote, no index knows.
        try openState().tokens.update(DocumentName(before ?? token)) { holders in
            if holders.users.isEmpty { holders.users = ["ann"] }
        }
        _ = try openState().registry.claim(
            registration, for: user, at: Timestamp(milliseconds: now))
    }

    func unbind(_ number: Int, from name: String) throws {
        guard let user = UserID(name), let token = DeviceToken(token(number)) else { return }
        #expect(try openState().registry.unbind(token, from: user))
    }
}
