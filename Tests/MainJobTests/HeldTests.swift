import Documents
import Glibc
import Spool
import Store
import TestSupport
import Testing
import Turnstone
import Unix

/// A held message keeps its moment, its expiration and its place in the order until it is sent.
@Suite struct HeldTests {
    /// A world in which ann's mute holds messages for an hour.
    func muted(devices: ClosedRange<Int> = 1...1) throws -> World {
        let world = try World()
        try world.give("ann", devices: devices)
        try mute(world, minutes: 60)
        return world
    }

    func mute(_ world: World, minutes: Int64?) throws {
        let end = minutes.map { Timestamp(milliseconds: world.now) + .minutes($0) }
        try world.change("ann") { $0.preferences.mutedUntil = end }
    }

    func send(_ world: World, _ more: JSONObject) throws -> String {
        var body: JSONObject = ["users": ["ann"]]
        for member in more.members { body[member.name] = member.value }
        let id = try world.sent(body)
        try world.run("deliver")
        return id
    }

    func goOn(_ world: World, minutes: Int64 = 60) throws {
        try world.advance(seconds: minutes * 60)
        for _ in 0..<2 { try world.run("deliver") }
    }

    func payloads(_ world: World) throws -> [JSONObject] {
        try world.simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["payload"]?.object
        }
    }

    func badges(_ world: World) throws -> [Int64] {
        try payloads(world).compactMap { $0["aps"]?.object?["badge"]?.integer }
    }

    func titles(_ world: World) throws -> [JSONValue?] {
        try payloads(world).map { $0["aps"]?.object?["alert"]?.object?["title"] }
    }

    func isEmpty(_ world: World) -> Bool {
        world.spooled().isEmpty
            && world.state.files().keys.allSatisfy { !$0.hasPrefix("spool/apns/series/") }
    }

    @Test("a scheduled message is not released with held ones")
    func scheduled() throws {
        let world = try muted()
        let now = try send(world, ["title": "A"])
        let later = try send(
            world, ["title": "B", "send_after": .integer(world.now / 1000 + 8 * 3600)])
        try goOn(world)
        #expect(try titles(world) == ["A"])
        #expect(try world.report(now)["counts"] == ["accepted": 1])
        #expect(try world.report(later)["counts"] == ["waiting": 1])
        try goOn(world, minutes: 8 * 60)
        #expect(try titles(world) == ["A", "B"])
        #expect(isEmpty(world))
    }

    @Test("a message scheduled into quiet hours waits for their end, and merges with held ones")
    func scheduledIntoQuiet() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let scheduled = try send(
            world, ["title": "B", "send_after": .integer(world.now / 1000 + 1800)])
        try mute(world, minutes: 60)
        let held = try send(world, ["title": "A"])
        try goOn(world, minutes: 40)
        #expect(try payloads(world).isEmpty)
        #expect(try world.report(scheduled)["counts"] == ["held": 1])
        try goOn(world, minutes: 20)
        #expect(try payloads(world).map { $0["merged"] } == [2])
        for id in [scheduled, held] {
            #expect(try world.report(id)["counts"] == ["accepted": 1])
            #expect(try world.report(id)["state"] == "done")
        }
        #expect(isEmpty(world))
    }

    @Test("lifting a mute releases what it held", arguments: [false, true])
    func lifted(isShortened: Bool) throws {
        let world = try World()
        try world.register(token(1), of: 1)
        let end = CalendarDate(Timestamp(milliseconds: world.now) + .days(1000)).text
        let path = "/api/preferences"
        let put = try world.ask("preferences", "PUT", path, by: 1, ["mutedUntil": .string(end)])
        #expect(put.status == 200, "\(put.body)")
        let id = try world.sent(["users": ["1"], "title": "Hello"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 1])
        let soon = CalendarDate(Timestamp(milliseconds: world.now) + .minutes(10)).text
        let body: JSONValue = isShortened ? ["mutedUntil": .string(soon)] : [:]
        #expect(try world.ask("preferences", "PUT", path, by: 1, body).status == 200)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == (isShortened ? 0 : 1))
        try goOn(world, minutes: 10)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test("what expires while it is held does so when its sender said, and the others keep waiting")
    func ownLife() throws {
        let world = try muted()
        let taxi = try send(world, ["title": "Taxi is here", "expires_in": 600])
        let other = try send(world, ["title": "Hello", "priority": 5])
        try goOn(world, minutes: 11)
        #expect(try world.report(taxi)["counts"] == ["expired": 1])
        #expect(try world.report(taxi)["state"] == "done")
        #expect(try world.report(other)["counts"] == ["held": 1])
        try goOn(world)
        #expect(try titles(world) == ["Hello"])
        let headers = try world.simulator.pushes().last?["headers"]?.object
        #expect(headers?["apns-priority"] == "5")
        #expect(isEmpty(world))
    }

    @Test(
        "without a life of its own, nothing expires while it is held",
        arguments: [
            ["users": ["1"]], ["users": ["1", "2"]],
            ["users": [], "devices": [.string(token(1))]],
        ] as [JSONObject])
    func noOwnLife(recipients: JSONObject) throws {
        let world = try World()
        for player in Int64(1)...2 { try world.register(token(1), of: player) }
        let end = Timestamp(milliseconds: world.now) + .days(2)
        for user in ["1", "2"] { try world.change(user) { $0.preferences.mutedUntil = end } }
        var message: JSONObject = ["title": "A"]
        for member in recipients.members { message[member.name] = member.value }
        let id = try send(world, message)
        for _ in 0..<4 { try goOn(world, minutes: 8 * 60) }
        // It is muted for longer, before that is over.
        for user in ["1", "2"] {
            try world.change(user) { $0.preferences.mutedUntil = end + .days(2) }
        }
        for _ in 0..<7 { try goOn(world, minutes: 9 * 60) }
        #expect(try titles(world) == [])
        #expect(try world.report(id)["state"] == "waiting")
        try goOn(world, minutes: 60)
        #expect(try titles(world) == ["A"])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test(
        "a held message does not wait for a scheduled one that a wrong clock has put beside it",
        arguments: [[:], ["collapse_id": "x"]] as [JSONObject])
    func clockWasAhead(more: JSONObject) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let start = world.now
        func message(_ title: String, after seconds: Int64? = nil) -> JSONObject {
            var message = more
            message["title"] = .string(title)
            message["send_after"] = seconds.map { .integer(world.now / 1000 + $0) }
            return message
        }
        let scheduled = try send(world, message("Later", after: 1200))
        try mute(world, minutes: 40)
        let held = try send(world, message("Held"))
        try goOn(world, minutes: 30)
        #expect(try world.report(scheduled)["counts"] == ["held": 1])
        try world.advance(seconds: (start - world.now) / 1000)
        try mute(world, minutes: nil)
        #expect(
            try Spool(state: world.state.path, .apns).lookAgain(
                at: #require(UserID("ann")), now: Timestamp(milliseconds: world.now)))
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["Held"])
        #expect(try world.report(held)["counts"] == ["accepted": 1])
        #expect(try world.report(scheduled)["counts"] == ["held": 1])
        try goOn(world, minutes: 20)
        #expect(try titles(world) == ["Held", "Later"])
        #expect(isEmpty(world))
    }

    @Test(
        "a user named together with their own device gets held messages when the mute is lifted")
    func ownDeviceNamed() throws {
        let world = try World()
        try world.register(token(1), of: 1)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("1") { $0.preferences.mutedUntil = end }
        let id = try send(
            world, ["users": ["1"], "title": "A", "devices": [.string(token(1))]])
        #expect(try world.report(id)["counts"] == ["held": 1])
        _ = try send(world, ["users": ["1"], "title": "B"])
        try goOn(world)
        #expect(try titles(world) == ["2 new notifications"])
        #expect(isEmpty(world))
    }

    @Test(
        "a message that is held does not take the place of a newer one", arguments: [true, false])
    func olderOverNewer(isNewerHeld: Bool) throws {
        let world = try muted()
        let old = try send(world, ["title": "Old", "collapse_id": "x"])
        try world.advance(seconds: 60)
        var newer: JSONObject = ["title": "New", "collapse_id": "x"]
        if !isNewerHeld { newer["interruption_level"] = "time-sensitive" }
        let new = try send(world, newer)
        let other = try send(world, ["title": "Other"])
        try goOn(world)
        #expect(try world.report(old)["counts"] == ["superseded": 1])
        for id in [new, other] { #expect(try world.report(id)["counts"] == ["accepted": 1]) }
        #expect(try payloads(world).last?["merged"] == (isNewerHeld ? 2 : nil))
        #expect(isEmpty(world))
    }

    @Test(
        "texts that nobody sees make no message visible",
        arguments: [
            ["title": "", "badge": 3], ["title": "", "body": "", "badge": 3],
            ["body": "\u{200B} ", "badge": 3],
            ["content_available": true, "body": "", "data": ["a": 1]],
            ["badge": 3, "apns": ["aps": ["alert": ""]]],
            ["badge": 3, "apns": ["aps": ["alert": ["title": ""]]]],
        ] as [JSONObject])
    func emptyTexts(body: JSONObject) throws {
        let world = try muted()
        let order = try send(world, ["title": "Order", "data": ["o": 7], "sound": "default"])
        let ids = try [send(world, body), send(world, body)]
        for id in ids { #expect(try world.report(id)["counts"] == ["accepted": 1]) }
        try goOn(world)
        #expect(try world.report(order)["counts"] == ["accepted": 1])
        let last = try #require(payloads(world).last)
        #expect(last["o"] == 7 && last["merged"] == nil)
        #expect(last["aps"]?.object?["alert"] == ["title": "Order"])
    }

    @Test("silent pushes pass, and do not change held messages")
    func silent() throws {
        let world = try muted()
        for _ in 0..<3 { _ = try send(world, ["badge": "+1"]) }
        #expect(try payloads(world).map { $0["aps"]?.object?["badge"] } == [1, 2, 3])
        let id = try send(
            world, ["title": "A", "category": "C", "sound": "S", "data": ["x": 1], "badge": "+1"])
        _ = try send(world, ["badge": "+1"])
        try goOn(world)
        #expect(
            try payloads(world).last == [
                "aps": ["alert": ["title": "A"], "badge": 5, "sound": "S", "category": "C"],
                "x": 1,
            ])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a message cancelled while it is held is not sent, whichever of many it is")
    func calledOff() throws {
        let world = try muted()
        var ids: [String] = []
        for number in 1...25 { ids.append(try send(world, ["title": .string("\(number)")])) }
        for id in ids.prefix(5) {
            let answer = try world.callOff(id)
            #expect(answer.status == 200)
            #expect(answer.json?.object?["state"] == "cancelled")
        }
        try goOn(world)
        #expect(try titles(world) == ["20 new notifications"])
        for id in ids.prefix(5) {
            #expect(try world.report(id)["counts"] == ["cancelled": 1])
        }
        for id in ids.dropFirst(5) {
            #expect(try world.report(id)["counts"] == ["accepted": 1])
        }
        #expect(isEmpty(world))
    }

    @Test("a message cancelled while it is held stays cancelled, even if its device leaves then")
    func calledOffBeforeLeaving() throws {
        let world = try muted()
        let cancelled = try send(world, ["title": "A"])
        let held = try send(world, ["title": "B"])
        #expect(try world.callOff(cancelled).status == 200)
        try world.change("ann") { $0.devices = [] }
        try goOn(world)
        #expect(try world.report(cancelled)["counts"] == ["cancelled": 1])
        #expect(try world.report(held)["counts"] == ["superseded": 1])
        #expect(isEmpty(world))
    }

    @Test("where the newer of two is called off, the older one is sent")
    func newerCalledOff() throws {
        let world = try muted()
        let old = try send(world, ["title": "Old", "collapse_id": "x"])
        let new = try send(world, ["title": "New", "collapse_id": "x"])
        #expect(try world.callOff(new).status == 200)
        try goOn(world)
        #expect(try titles(world) == ["Old"])
        #expect(try world.report(old)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test("what a release was to bring and is called off or switched off meanwhile is left out")
    func putOffRelease() throws {
        let world = try muted()
        let first = try send(world, ["title": "One"])
        let second = try send(world, ["title": "Two", "kind": "chat"])
        let third = try send(world, ["title": "Three"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try goOn(world)
        #expect(try payloads(world).isEmpty)
        let answer = try world.callOff(first)
        #expect(answer.status == 202, "its push may be under way: \(answer.body)")
        #expect(answer.json?.object?["state"] == "cancelling")
        try world.change("ann") { $0.preferences.kinds = ["chat": false] }
        try goOn(world)
        #expect(try titles(world) == ["Three"])
        #expect(try world.report(first)["counts"] == ["cancelled": 1])
        #expect(try world.report(second)["counts"] == ["superseded": 1])
        #expect(try world.report(third)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test("a held message of which unreadable receipts say more is neither held nor cancelled")
    func unreadableReceipts() throws {
        let world = try muted()
        let id = try send(world, ["title": "One"])
        #expect(try world.report(id)["counts"] == ["held": 1])
        // On the next day.
        try goOn(world, minutes: 12 * 60 + 20)
        #expect(try titles(world) == ["One"])
        let day = try #require(world.state.files().keys.filter { $0.hasPrefix("receipts/") }.max())
        let path = "\(world.state.path)/\(day)"
        try #require(rename(path, "\(path).away") == 0 && symlink(path, path) == 0)
        #expect(try world.report(id)["state"] == "damaged")
        #expect(try world.report(id)["counts"] == ["damaged": 1])
        #expect(try world.callOff(id).status == 500)
        try #require(unlink(path) == 0 && rename("\(path).away", path) == 0)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a release that is put off into another mute waits for its end")
    func heldAgain() throws {
        let world = try muted()
        let id = try send(world, ["title": "One"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try goOn(world)
        try mute(world, minutes: 120)
        try goOn(world)
        #expect(try payloads(world).isEmpty)
        #expect(try world.report(id)["counts"] == ["held": 1])
        #expect(try world.callOff(id).status == 200)
        try goOn(world, minutes: 61)
        #expect(try payloads(world).isEmpty)
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(isEmpty(world))
    }

    @Test("badges are counted when they are sent, and never go back")
    func badges() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try send(
            world, ["title": "A", "badge": "+1", "send_after": .integer(world.now / 1000 + 60)])
        _ = try send(world, ["title": "B", "badge": "+1"])
        let gone = try send(
            world, ["title": "C", "badge": "+1", "send_after": .integer(world.now / 1000 + 60)])
        #expect(try world.callOff(gone).status == 200)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try send(world, ["title": "D", "badge": "+1"])
        _ = try send(world, ["title": "E", "badge": "+1"])
        try goOn(world)
        let badges = try self.badges(world)
        #expect(badges == badges.sorted() && badges.last == 4 && badges.count == 4, "\(badges)")
    }

    @Test("a merged push fits, even if the newest message alone left no room for more")
    func mergedFits() throws {
        for size in [3900, 4000, 4010, 4020, 4030] {
            let world = try muted()
            let data: JSONObject = ["x": .string(String(repeating: "y", count: size))]
            let ids = [
                try send(world, ["title": "Taxi is here", "badge": "+1"]),
                try send(world, ["title": "t", "data": .object(data), "badge": "+1"]),
            ]
            try goOn(world)
            #expect(try titles(world) == ["2 new notifications"])
            for id in ids { #expect(try world.report(id)["counts"] == ["accepted": 1]) }
            let payload = try #require(payloads(world).last)
            #expect(payload["x"] == nil ? size > 3900 : payload["x"] == data["x"])
        }
    }

    @Test(
        "a message cancelled after it was put off counts in no badge, even if that took two requests",
        arguments: [false, true])
    func badgeOfCalledOff(isBusy: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try send(world, ["title": "A", "badge": "+1"])
        try world.run("deliver")
        if isBusy {
            let document = try #require(
                world.state.files().keys.first { $0.hasSuffix("/ann.json") })
            let lock = try FileDescriptor.open(
                "\(world.state.path)/\(SharedLock.file(of: document))", .update)
            #expect(try lock.tryLock())
            #expect(try world.callOff(id).status == 503)
            lock.unlock()
        }
        #expect(try world.callOff(id).status == 200)
        _ = try send(world, ["title": "B", "badge": "+1"])
        try world.run("deliver")
        let badges = try self.badges(world)
        // The file system chooses which of the two goes first: the correction is right at its moment.
        #expect([[0, 1], [1, 1]].contains(badges), "\(badges)")
    }

    @Test("an icon that a repeated push has given too high a number is corrected")
    func tooHighAfterRepeat() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        _ = try send(world, ["title": "B", "badge": "+1"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        _ = try send(world, ["title": "M", "badge": "+1", "expires_in": 1200])
        try goOn(world, minutes: 5)
        try goOn(world, minutes: 40)
        let badges = try self.badges(world)
        #expect(badges == [2, 1])
        #expect(isEmpty(world))
    }

    @Test("nothing is held for more than thirty days, whatever is held beside it")
    func aMonth() throws {
        let world = try muted()
        try mute(world, minutes: 365 * 24 * 60)
        let old = try send(world, ["title": "Old"])
        for _ in 0..<20 { try goOn(world, minutes: 24 * 60) }
        let new = try send(world, ["title": "New"])
        for _ in 0..<10 { try goOn(world, minutes: 24 * 60) }
        try goOn(world, minutes: 10)
        #expect(try world.report(old)["counts"] == ["expired": 1])
        #expect(try world.report(new)["counts"] == ["held": 1])
        // It waits for its own end.
        let box = try #require(world.state.files().keys.first { $0.hasPrefix("spool/apns/held/") })
        let moment = box.dropFirst("spool/apns/held/".count).prefix { $0 != "-" }
        #expect(Int64(moment).map { $0 > world.now } == true, "\(box)")
    }

    @Test("an icon that shows a number taken back is corrected", arguments: [false, true])
    func correctedIcon(isCalledOff: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try send(world, ["title": "A", "badge": "+1", "collapse_id": "x"])
        _ = try send(world, ["title": "B", "badge": "+1", "collapse_id": "x"])
        if isCalledOff { #expect(try world.callOff(id).status == 200) }
        try goOn(world, minutes: 20)
        let badges = try self.badges(world)
        #expect(badges == [2, 1])
        #expect(isEmpty(world))
    }

    @Test("each device is held for once, however it is named")
    func counted() throws {
        let world = try muted(devices: 1...2)
        let id = try world.sent([
            "users": ["ann", "ann"], "devices": [.string(token(1))], "title": "A",
        ])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 2])
        try goOn(world)
        #expect(try world.report(id)["counts"] == ["accepted": 2])
        #expect(try payloads(world).count == 2)
    }

    @Test("messages held for an erased user end")
    func erased() throws {
        let world = try muted()
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        let id = try send(world, ["title": "A"])
        let event: JSONValue = [
            "method": "DELETE", "path": "/api/users/ann",
            "headers": ["Authorization": .string("Key \(World.serverKey)")],
        ]
        #expect(try Answer(event: world.start("users", event).end().stdout).status == 200)
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(isEmpty(world))
    }

    /// The state folder after a drainer was killed when a message's file was in its box but not yet in the
    /// receipts.
    ///
    /// - Parameter afterwards: what other drainers have done since, without coming to the message.
    private func killedWhileHolding(
        _ world: World, afterwards: () throws -> Void = {}
    ) throws -> String {
        let id = try world.sent(["users": ["ann"], "title": "A"])
        let before = world.state.files()
        try world.run("deliver")
        try afterwards()
        let ready = try #require(before.first { $0.key.hasSuffix("ready/normal/\(id).jsonl") })
        try world.state.write(String(decoding: ready.value, as: UTF8.self), to: ready.key)
        for name in world.state.files().keys where name.hasPrefix("receipts/") {
            try world.state.write("", to: name)
        }
        unlink("\(world.state.path)/spool/apns/checkpoint.json")
        return id
    }

    @Test("a message that a killed drainer was holding is called off whole")
    func calledOffAfterKill() throws {
        let world = try muted()
        let id = try killedWhileHolding(world)
        #expect(try world.callOff(id).status == 200)
        try mute(world, minutes: nil)
        try goOn(world)
        #expect(try payloads(world).isEmpty)
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
    }

    @Test("a message that a killed drainer was holding is sent once", arguments: [false, true])
    func sentOnceAfterKill(isLifted: Bool) throws {
        let world = try muted()
        let id = try killedWhileHolding(world)
        if isLifted { try mute(world, minutes: nil) }
        try world.run("deliver")
        try goOn(world)
        #expect(try titles(world) == ["A"])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a message that a killed drainer was holding is sent once, though its box is a release by now"
    )
    func sentOnceThoughReleased() throws {
        let world = try muted()
        let id = try killedWhileHolding(world) {
            try mute(world, minutes: nil)
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
            try goOn(world)
        }
        #expect(try titles(world).isEmpty)
        try world.run("deliver")
        try goOn(world)
        #expect(try titles(world) == ["A"])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test("a message whose mute ended long ago, while no drainer ran, has expired")
    func lateRelease() throws {
        let world = try muted()
        let id = try send(world, ["title": "A"])
        try world.advance(seconds: 50 * 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.report(id)["counts"] == ["expired": 1])
    }

    @Test("a message that is released late, and is worth it yet, is sent")
    func lateButInTime() throws {
        let world = try muted()
        let id = try send(world, ["title": "A"])
        try world.advance(seconds: 20 * 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("what a killed drainer has taken out of its box and not accepted is due at once")
    func dueAfterKill() throws {
        let world = try muted()
        let id = try send(world, ["title": "A"])
        try world.advance(seconds: 3600)
        let now = Timestamp(milliseconds: world.now)
        let spool = Spool(state: world.state.path, .apns)
        let moments = try spool.heldMoments()
        let box = try #require(try spool.dueBoxes(among: moments, at: now, most: 1).first)
        try spool.release(box, as: "00000000-0000-4000-8000-000000000001", among: moments)
        #expect(try spool.nextDue(at: now) == now && spool.hasWork(at: now))
        #expect(try spool.oldestDue(at: now).map { now - $0 < .minutes(1) } == true)
        // As the timer starts it.
        world.variables["TURNSTONE_DELIVER"] = "spawn"
        try world.run("check-turns")
        for _ in 0..<500 where try world.acceptedIDs().isEmpty { usleep(10_000) }
        #expect(try titles(world) == ["A"])
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a held message waits for a newer one that is being sent")
    func newerInHand() throws {
        let world = try muted(devices: 1...3)
        let old = try send(world, ["title": "Old", "collapse_id": "x"])
        try mute(world, minutes: nil)
        try world.advance(seconds: 3600)
        let new = try world.sent(["users": ["ann"], "title": "New", "collapse_id": "x"])
        try goOn(world, minutes: 0)
        try goOn(world, minutes: 1)
        #expect(try world.report(new)["counts"] == ["accepted": 3])
        #expect(try world.report(old)["counts"] == ["superseded": 3])
        #expect(try titles(world) == ["New", "New", "New"])
    }

    @Test("an older message that one device still waits for does not follow a newer one")
    func olderOnOtherDevice() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("bob", devices: 2...2)
        try mute(world, minutes: 60)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "token": .string(token(2)), "count": 1,
        ])
        let old = try send(world, ["users": ["ann", "bob"], "title": "Old", "collapse_id": "x"])
        // The held message goes; bob's push still waits.
        try mute(world, minutes: nil)
        #expect(
            try Spool(state: world.state.path, .apns).lookAgain(
                at: #require(UserID("ann")), now: Timestamp(milliseconds: world.now)))
        try world.run("deliver")
        let new = try send(world, ["users": ["bob"], "title": "New", "collapse_id": "x"])
        try goOn(world)
        try goOn(world)
        #expect(try world.report(new)["counts"] == ["accepted": 1])
        #expect(try world.report(old)["counts"] == ["accepted": 1, "superseded": 1])
        #expect(isEmpty(world))
    }

    @Test("held messages to look at again are due from now on, and not late")
    func dueFromNow() throws {
        let world = try muted()
        _ = try send(world, ["title": "A"])
        let now = Timestamp(milliseconds: world.now)
        let spool = Spool(state: world.state.path, .apns)
        #expect(try spool.lookAgain(at: #require(UserID("ann")), now: now))
        #expect(try spool.oldestDue(at: now) == now)
    }

    @Test("a repeated change of preferences lets go what a killed one has not")
    func repeatedChange() throws {
        let world = try World()
        try world.register(token(1), of: 1)
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("1") { $0.preferences.mutedUntil = end }
        _ = try send(world, ["users": ["1"], "title": "A"])
        // All that the killed one has done.
        try world.change("1") { $0.preferences.mutedUntil = nil }
        let answer = try world.ask("preferences", "PUT", "/api/preferences", by: 1, [:])
        #expect(answer.status == 200, "\(answer.body)")
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try titles(world) == ["A"])
    }

    @Test("a message held for a shared phone goes to whoever wants it first")
    func sharedPhone() throws {
        let world = try World()
        for player in Int64(1)...2 { try world.register(token(1), of: player) }
        let end = Timestamp(milliseconds: world.now) + .hours(2)
        for name in ["1", "2"] { try world.change(name) { $0.preferences.mutedUntil = end } }
        let id = try send(world, ["users": ["1", "2"], "title": "A"])
        try world.change("2") { $0.preferences.mutedUntil = nil }
        try goOn(world, minutes: 11)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
        #expect(try payloads(world).count == 1)
    }

    @Test("a message held for two devices that became one is sent once")
    func becameOne() throws {
        let world = try muted(devices: 1...2)
        let first = try send(world, ["title": "A", "badge": "+1"])
        try world.claim(2, for: "ann", insteadOf: 1)
        let second = try send(world, ["title": "B", "badge": "+1"])
        try goOn(world)
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["2 new notifications"])
        #expect(try payloads(world)[0]["aps"]?.object?["badge"] == 2)
        #expect(try world.report(first)["counts"] == ["accepted": 1, "superseded": 1])
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(isEmpty(world))
    }

    @Test("a damaged box or record does not hold up other users' messages")
    func unusable() throws {
        let world = try muted()
        let first = try send(world, ["title": "A"])
        let second = try send(world, ["title": "B"])
        try world.state.write("", to: "spool/apns/held/0")
        try world.state.write("", to: "spool/apns/held/released/junk")
        let record = try #require(
            world.state.files().keys.first { $0.hasSuffix("/\(first).json") })
        let text = String(decoding: world.state.files()[record] ?? [], as: UTF8.self)
        let newer = text.replacing("\"version\":1", with: "\"version\":9")
        try world.state.write(newer, to: record)
        try goOn(world)
        #expect(try titles(world) == ["2 new notifications"])
        #expect(try world.report(second)["counts"] == ["accepted": 1])
    }

    @Test("what an earlier version has held is released")
    func earlier() throws {
        let world = try muted()
        let user = try #require(UserID("ann"))
        let id = "00000000-0000-4000-8000-000000000001"
        let end = Timestamp(milliseconds: world.now) + .hours(1)
        try world.change("ann") { document in
            document.held = HeldMessages([
                "messages": [
                    [
                        "id": .string(id), "payload": ["aps": ["alert": ["title": "A"]]],
                        "expires_at": JSONValue(end + .hours(1)),
                    ]
                ], "ids": [.string(id)], "due": JSONValue(end),
            ])!
        }
        var reminder = Notification(
            id: "00000000-0000-4000-8000-000000000002", user: user,
            accepted: Timestamp(milliseconds: world.now), expires: end + .days(2),
            push: PushContent(
                type: .alert, priority: 10, collapseID: nil, payload: Payload(aps: [:])))
        reminder.cargo = .messages
        let device = try #require(DeviceToken(token(1)))
        try Spools(state: world.state.path, shards: 1).accept(
            reminder, to: [Delivery(token: device, environment: nil)],
            notBefore: .putOff(until: end))
        try goOn(world)
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["A"])
        #expect(isEmpty(world))
    }
}
