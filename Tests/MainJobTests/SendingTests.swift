import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// Changes between the acceptance of a message and its sending.
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
        "a phone that is no longer the user's gets nothing", arguments: Delay.allCases,
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
        "a token that is registered again after another took its place is another device",
        arguments: Delay.allCases)
    func oldTokenAgain(delay: Delay) throws {
        let (world, id) = try begin(delay)
        try world.claim(2, for: "ann", insteadOf: 1)
        try world.claim(1, for: "ann")
        try goOn(world)
        let accepted = try world.simulator.pushes().filter { $0["accepted"] == true }
        #expect(accepted.map { $0["token"] } == [.string(token(2))])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a device that has become one with another does not get again what that one has got")
    func mergedAfterDelivery() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.simulator.perform([
            "do": "apns-fault", "token": .string(token(1)), "status": 503, "count": 1,
        ])
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.run("deliver")
        try world.claim(2, for: "ann", insteadOf: 1)
        try goOn(world)
        #expect(try world.acceptedIDs().count == 1)
        #expect(try world.report(id)["counts"] == ["accepted": 1, "superseded": 1])
    }

    @Test(
        "what waits for a device that has become one with another goes there, whatever comes back")
    func lateRegistration() throws {
        let (world, id) = try begin(.busyGateway)
        try world.give("ann", devices: 2...2)
        try world.claim(2, for: "ann", insteadOf: 1)
        try world.claim(1, for: "ann")
        try world.simulator.perform(["do": "token", "token": .string(token(1)), "is": "gone"])
        try goOn(world)
        let accepted = try world.simulator.pushes().filter { $0["accepted"] == true }
        #expect(accepted.map { $0["token"] } == [.string(token(2))])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a device that has become one with another gets nothing older than that one has got")
    func mergedDevice() throws {
        let (world, old) = try begin(.busyGateway, ["collapse_id": "score"])
        try world.claim(2, for: "ann")
        try world.claim(2, for: "ann", insteadOf: 1)
        let new = try world.sent(["users": ["ann"], "title": "Newer", "collapse_id": "score"])
        try world.run("deliver")
        #expect(try world.report(new)["counts"] == ["accepted": 1])
        try goOn(world)
        #expect(try world.acceptedIDs().count == 1)
        #expect(try states(world, old) == [["superseded", "newer"]])
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
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") })
    }

    @Test(
        "an older message does not follow a newer one with the same collapse id or the same subject, whatever else they have",
        arguments: [
            (["collapse_id": "z"], ["collapse_id": "z", "subject": "q"]),
            (["collapse_id": "z", "subject": "q"], ["collapse_id": "z"]),
            (["collapse_id": "z", "subject": "q"], ["collapse_id": "z", "subject": "r"]),
            (["collapse_id": "y", "subject": "q"], ["collapse_id": "z", "subject": "q"]),
            (["subject": "q"], ["collapse_id": "z", "subject": "q"]),
        ] as [(JSONObject, JSONObject)], [false, true])
    func overtakenInPart(members: (old: JSONObject, new: JSONObject), isHeld: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        func send(_ title: JSONValue, _ more: JSONObject) throws -> String {
            var body: JSONObject = [
                "users": ["ann"], "title": title, "interruption_level": "time-sensitive",
            ]
            for member in more.members { body[member.name] = member.value }
            return try world.sent(body)
        }
        if isHeld {
            try world.change("ann") {
                $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .hours(1)
            }
        } else {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        }
        var old = members.old
        if isHeld { old["interruption_level"] = "active" }
        let first = try send("Old", old)
        try world.run("deliver")
        try world.advance(seconds: 1)
        let second = try send("New", members.new)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.acceptedIDs().count == 1)
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") })
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
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") })
    }

    @Test("what was put off expires in time, though it would be tried again much later")
    func expiresWhilePutOff() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("bob", devices: 2...2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        let id = try world.sent([
            "users": ["ann", "bob"], "title": "T", "badge": "+1", "expires_in": 60,
        ])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["waiting": 2])
        // APNs is asked again after 15 minutes at the earliest.
        try world.advance(seconds: 61)
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "done")
        #expect(try world.report(id)["counts"] == ["expired": 2])
        #expect(world.spooled().isEmpty)
        #expect(
            try world.simulator.pushes().allSatisfy {
                $0["accepted"] != true || $0["payload"]?.object?["aps"]?.object?["alert"] == nil
            })
    }

    @Test("what can still be told when it would expire waits as long as APNs asked for")
    func waitsForAPNs() throws {
        // A turn notice's life depends on the games of the moment at which it is sent.
        let world = try World()
        try world.beginGame(
            7,
            [
                "to_move": 1,
                "json": [
                    "clock": [
                        "current_player": 1, "last_move": .integer(world.now),
                        "expiration": .integer(world.now + 1_200_000),
                    ]
                ],
            ])
        try world.register(token(1), of: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        try world.cycle()
        var last = world.now
        for _ in 1...120 where try world.simulator.apns()["requests"] != 3 {
            last = world.now
            try world.run("deliver")
            try world.advance(seconds: 60)
        }
        #expect(try world.simulator.apns()["requests"] == 3)
        let name = try #require(world.spooled().first { $0.hasPrefix("spool/apns/waiting/") })
        let until = try #require(
            name.split(separator: "/")[3].split(separator: "-").first.flatMap { Int64($0) })
        // The pause after a third failure is an hour at least, and so is the notice's life.
        #expect(until >= last + 3_600_000)
    }

    @Test("a clock that is set back puts no older message over a newer one")
    func clockSetBack() throws {
        let (world, first) = try begin(.busyGateway, ["collapse_id": "x"])
        try world.advance(seconds: -300)
        // Notifications that waited for a moment ahead of the clock are tried at once.
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

    /// A token that nobody had registered when a message to it was accepted.
    enum Fate: CaseIterable, Sendable {
        case stays, registered, refuses, muted, leaves
    }

    @Test(
        "a token that nobody had registered is looked up when it is sent", arguments: Fate.allCases)
    func rawToken(fate: Fate) throws {
        let world = try World()
        let id = try world.sent([
            "devices": [.string(token(1))], "title": "Hello", "kind": "chat",
            "send_after": .integer(world.now / 1000 + 1200),
        ])
        if fate != .stays { try world.claim(1, for: "bob") }
        let end = Timestamp(milliseconds: world.now) + .hours(2)
        switch fate {
        case .stays, .registered: break
        case .refuses: try world.change("bob") { $0.preferences.kinds = ["chat": false] }
        case .muted: try world.change("bob") { $0.preferences.mutedUntil = end }
        case .leaves: try world.unbind(1, from: "bob")
        }
        try goOn(world)
        switch fate {
        case .stays, .registered:
            #expect(try states(world, id) == [["accepted", nil]])
            let user = try world.report(id)["devices"]?.array?.first?.object?["user"]
            #expect(user == (fate == .stays ? nil : "bob"))
        case .refuses: #expect(try states(world, id) == [["superseded", "unwanted"]])
        case .leaves: #expect(try states(world, id) == [["superseded", "unregistered"]])
        case .muted:
            #expect(try states(world, id) == [["held", nil]])
            try world.advance(seconds: 7200)
            try world.run("deliver")
            #expect(try states(world, id) == [["accepted", nil]])
        }
    }

    @Test("a token that was given up before a message to it is sent to as it is")
    func formerToken() throws {
        let world = try World()
        try world.claim(1, for: "bob")
        try world.unbind(1, from: "bob")
        // A document older than two seconds can be distinguished from later ones.
        usleep(2_200_000)
        let id = try world.sent([
            "devices": [.string(token(1))], "title": "Hello",
            "send_after": .integer(world.now / 1000 + 1200),
        ])
        try goOn(world)
        #expect(try states(world, id) == [["accepted", nil]])
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

    /// An approval request and its clear; at first the push service accepts neither.
    private func requestAndClear(_ count: Int64 = 2) throws -> World {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "count": .integer(count),
        ])
        let values: JSONObject = ["requestId": "r-1", "toolName": "Bash", "action": "npm test"]
        _ = try world.post(event: "approval_request", values, to: "ann")
        try world.run("deliver")
        _ = try world.post(event: "approval_cleared", ["requestId": "r-1"], to: "ann")
        try world.run("deliver")
        return world
    }

    /// The accepted push: `r-1` for the clear, nothing for the request.
    private func clears(_ world: World) throws -> [JSONValue?] {
        try world.simulator.pushes().filter { $0["accepted"] == true }.map {
            $0["payload"]?.object?["clearApprovalId"]
        }
    }

    @Test("a request and its clear that were both put off: only the clear is sent")
    func bothPutOff() throws {
        let world = try requestAndClear()
        #expect(world.spooled().count == 2)
        try goOn(world)
        #expect(try clears(world) == ["r-1"])
        #expect(world.spooled().isEmpty)
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") })
    }

    @Test("an older message waits while a newer one is put off", arguments: [1, 2])
    func waitsForNewer(failures: Int64) throws {
        let world = try requestAndClear(1 + failures)
        for _ in 0..<100 where !world.spooled().isEmpty {
            try world.advance(seconds: 60)
            try world.run("deliver")
        }
        #expect(try clears(world) == ["r-1"])
    }

    @Test("an older message is sent where the newer one fails", arguments: ["refused", "expired"])
    func newerFails(_ end: String) throws {
        let (world, first) = try begin(.busyGateway, ["collapse_id": "x", "expires_in": 86_400])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let second = try world.sent([
            "users": ["ann"], "title": "New", "collapse_id": "x",
            "expires_in": end == "expired" ? 30 : 86_400,
        ])
        try world.run("deliver")
        if end == "refused" {
            try world.simulator.perform([
                "do": "apns-fault", "status": 413, "reason": "PayloadTooLarge", "count": 1,
            ])
        }
        for _ in 0..<3 { try goOn(world) }
        #expect(try world.report(second)["counts"] == .object([end: 1]))
        #expect(try world.report(first)["counts"] == ["accepted": 1])
    }

    @Test(
        "an older message does not wait for one that is scheduled for later",
        arguments: [
            "collapse_id", "subject",
        ])
    func newerIsScheduled(member: String) throws {
        let (world, first) = try begin(.busyGateway, [member: "x"])
        let second = try world.sent([
            "users": ["ann"], "title": "New", member: "x",
            "send_after": .integer(world.now / 1000 + 7200),
        ])
        try goOn(world)
        #expect(try world.report(first)["counts"] == ["accepted": 1])
        for _ in 0..<3 { try goOn(world) }
        #expect(try world.report(second)["counts"] == ["accepted": 1])
    }

    @Test("an urgent message does not wait for a newer one that quiet hours hold")
    func newerIsHeld() throws {
        let (world, first) = try begin(
            .busyGateway, ["collapse_id": "x", "interruption_level": "time-sensitive"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let second = try world.sent(["users": ["ann"], "title": "New", "collapse_id": "x"])
        try world.run("deliver")
        let end = Timestamp(milliseconds: world.now) + .hours(8)
        try world.change("ann") { $0.preferences.mutedUntil = end }
        try goOn(world)
        #expect(try world.report(first)["counts"] == ["accepted": 1])
        try world.advance(seconds: 8 * 3600)
        try world.run("deliver")
        #expect(try world.report(second)["counts"] == ["accepted": 1])
    }

    @Test("of two messages to many devices each device gets the newer one alone")
    func newerBulk() throws {
        let (world, first) = try begin(.busyGateway, ["collapse_id": "x"], devices: 1...150)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 150])
        let second = try world.sent(["users": ["ann"], "title": "New", "collapse_id": "x"])
        try world.run("deliver")
        for _ in 0..<3 { try goOn(world) }
        #expect(try world.report(second)["counts"] == ["accepted": 150])
        #expect(try world.report(first)["counts"] == ["superseded": 150])
    }

    @Test(
        "many updates of one thing are not compared by reading each other's marks",
        .enabled(if: SystemCalls.isPossible))
    func manyUpdates() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let body: JSONObject = ["users": ["ann"], "title": "New", "collapse_id": "x"]
        for _ in 0..<60 { _ = try world.sent(body) }
        func marksRead(_ program: String, _ event: JSONValue?) throws -> Int {
            let environment = world.environment.merging(
                ["TURNSTONE_SERVER_KEY": World.serverKey]) { $1 }
            let (calls, ended) = try SystemCalls.of(
                Programs.path(program), ["openat"], input: event.map { JSON.text($0) } ?? [],
                environment: environment)
            #expect(ended.exitCode == 0, "\(ended.stderr)")
            return calls.calls.count {
                let path = $0.text(0) ?? ""
                return path.contains("/series/") && path.hasSuffix(".json")
            }
        }
        // Its own mark is written under another name.
        #expect(try marksRead("notify", world.message("POST", "/api/notify", body)) == 0)
        #expect(try marksRead("deliver", nil) <= 61)
        #expect(world.spooled().isEmpty)
        #expect(world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") })
    }

    @Test("what a newer message reached before it was put off gets no older one")
    func reachedBefore() throws {
        for _ in 0..<4 {
            let (world, first) = try begin(.busyGateway, ["collapse_id": "x"], devices: 1...2)
            try world.simulator.perform([
                "do": "apns-fault", "status": 503, "token": .string(token(2)), "count": 2,
            ])
            let second = try world.sent(["users": ["ann"], "title": "New", "collapse_id": "x"])
            try world.run("deliver")
            for _ in 0..<3 { try goOn(world) }
            #expect(try world.report(second)["counts"] == ["accepted": 2])
            #expect(try world.report(first)["counts"] == ["superseded": 2])
        }
    }

    @Test(
        "a clear removes what is shown even if its kind was switched off",
        arguments: [false, true])
    func unwantedClear(isBefore: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let off: (inout User) -> Void = {
            $0.preferences.kinds = ["approval_request": false, "approval_cleared": false]
        }
        let values: JSONObject = ["requestId": "r-1", "toolName": "Bash", "action": "npm test"]
        _ = try world.post(event: "approval_request", values, to: "ann")
        try world.run("deliver")
        if isBefore { try world.change("ann", off) }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try world.post(event: "approval_cleared", ["requestId": "r-1"], to: "ann")
        try world.run("deliver")
        if !isBefore { try world.change("ann", off) }
        try goOn(world)
        let pushes = try world.simulator.pushes().filter { $0["accepted"] == true }
        #expect(pushes.map { $0["payload"]?.object?["clearApprovalId"] } == [nil, "r-1"])
    }

    @Test(
        "a pause grows with failures of its own kind only",
        arguments: [
            ["status": 429], ["kind": "drop"], ["status": 503, "retry_after": 90],
            ["status": 429, "reason": "TooManyProviderTokenUpdates"],
        ] as [JSONObject])
    func pauses(other: JSONObject) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        var fault: JSONObject = ["do": "apns-fault", "count": 5]
        for member in other.members { fault[member.name] = member.value }
        try world.simulator.perform(fault)
        _ = try world.sent(["users": ["ann"], "title": "A"])
        for _ in 0..<5 {
            try world.run("deliver")
            try world.advance(seconds: 240)
        }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 19 * 60)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("nothing older follows a push that may have arrived and has expired since")
    func olderAfterDoubt() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let old = try world.sent(["users": ["ann"], "title": "Old", "collapse_id": "score"])
        let new = try world.sent([
            "users": ["ann"], "title": "New", "collapse_id": "score", "expires_in": 600,
        ])
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
        ])
        try world.killDrainer(afterPushes: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 4])
        try world.run("deliver")
        for _ in 0..<2 { try goOn(world) }
        let accepted = try world.simulator.pushes().filter { $0["accepted"] == true }
        let titles = accepted.map {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
        #expect(Set(titles) == ["New"])
        #expect(try states(world, new) == [["expired", nil]])
        #expect(try states(world, old) == [["superseded", "newer"]])
    }

    @Test("a push that may have arrived stays in doubt, whatever a later answer says")
    func alwaysInDoubt() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
        ])
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.killDrainer(afterPushes: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        let waiting = try world.report(id)["devices"]?.array?.first?.object
        #expect(waiting?["state"] == "waiting" && waiting?["mayHaveArrived"] == true)
        let answer = try world.callOff(id)
        #expect(answer.status == 202, "it may have arrived: \(answer.body)")
        try world.unbind(1, from: "ann")
        try goOn(world)
        let line = try world.report(id)["devices"]?.array?.first?.object
        #expect(line?["state"] == "superseded" && line?["mayHaveArrived"] == true)
    }

    @Test("the history says that a push may have arrived until it was accepted")
    func doubtInHistory() throws {
        let world = try World()
        try world.register(token(1), of: 1)
        func newest() throws -> JSONObject? {
            let answer = try world.ask("notifications", "GET", "/api/notifications", by: 1)
            return answer.json?.object?["notifications"]?.array?.first?.object
        }
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "accepted": true, "count": 1,
        ])
        _ = try world.sent(["users": ["1"], "title": "Hello"])
        try world.killDrainer(afterPushes: 1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        for _ in 0..<2 {
            try world.run("deliver")
            let entry = try newest()
            #expect(entry?["outcome"] == "waiting" && entry?["status"] == 503)
            #expect(entry?["mayHaveArrived"] == true)
            try world.advance(seconds: 3600)
        }
        try world.run("deliver")
        let entry = try newest()
        #expect(entry?["outcome"] == "accepted" && entry?["mayHaveArrived"] == nil)
    }

    @Test(
        "a message that was tried, reached nobody and is cancelled does not count in the badge",
        arguments: [false, true], ["called off", "unwanted", "expired"])
    func takenBack(isHeld: Bool, how: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        if isHeld {
            try world.change("ann") {
                $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(5)
            }
        }
        let id = try world.sent([
            "users": ["ann"], "title": "One", "badge": "+1", "kind": "chat", "expires_in": 1200,
        ])
        try world.run("deliver")
        if isHeld { try world.advance(seconds: 600) }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        switch how {
        case "called off": _ = try world.callOff(id)
        case "unwanted": try world.change("ann") { $0.preferences.kinds = ["chat": false] }
        default: break
        }
        try world.advance(seconds: 2400)
        try world.run("deliver")
        _ = try world.sent(["users": ["ann"], "title": "Two", "badge": "+1"])
        try world.run("deliver")
        let badges = try world.simulator.pushes().filter { $0["accepted"] == true }
            .map { $0["payload"]?.object?["aps"]?.object?["badge"] }
        // A push in between may have shown the number before it was taken back.
        #expect(badges.drop { $0 == 0 } == [1])
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

extension World {
    func openState() throws -> State {
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", state.path)
        return try State(settings)
    }

    /// Changes a user's document as a program would.
    func change(_ name: String, _ change: (inout User) -> Void) throws {
        guard let user = UserID(name) else { throw TestFailure("\(name) is no user's id") }
        try openState().users[user].update { change(&$0) }
    }

    /// Registers the token of a number for a user alone.
    func claim(_ number: Int, for name: String, insteadOf previous: Int? = nil) throws {
        let before = previous.flatMap { DeviceToken(token($0)) }
        guard let user = UserID(name), let token = DeviceToken(token(number)) else {
            throw TestFailure("no registration of \(number) for \(name)")
        }
        var registration = Registration(token)
        registration.previous = before
        // No index knows the documents that `give` wrote.
        try openState().tokens[before ?? token].update { holders in
            if holders.users.isEmpty { holders.users = UserID("ann").map { [$0] } ?? [] }
        }
        _ = try openState().registry.claim(
            registration, for: user, at: Timestamp(milliseconds: now))
    }

    func unbind(_ number: Int, from name: String) throws {
        guard let user = UserID(name), let token = DeviceToken(token(number)) else { return }
        #expect(
            try openState().registry.unbind(
                token, from: user, at: Timestamp(milliseconds: now)))
    }
}
