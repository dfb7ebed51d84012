import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A notification's file that has lost its end exactly where a line ends, so that all that is left can be read.
@Suite struct CutFileTests {
    /// Who wrote the file.
    enum Writer: CaseIterable, Sendable {
        case acceptance, largeAcceptance, severalServices, anotherPass, hold, move
    }

    /// A notification in the spool, to ann, to a thousand others as well, or to player 1.
    private func notification(by writer: Writer) throws -> (world: World, id: String) {
        let world = try World.withAllServices()
        try world.give("ann", devices: 1...3)
        var users: [JSONValue] = ["ann"]
        switch writer {
        case .acceptance, .move: break
        case .largeAcceptance:
            for number in 1...10 {
                let user = "user-\(number)"
                try world.give(user, devices: (number * 100)...(number * 100 + 99))
                users.append(.string(user))
            }
        case .severalServices:
            try world.registerAllKinds(of: 1)
            users = ["1"]
        case .anotherPass:
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        case .hold: try mute(in: world, minutes: 60)
        }
        let id = try world.sent(["users": .array(users), "title": "Hello"])
        switch writer {
        case .anotherPass, .hold:
            try world.run("deliver")
            try world.advance(seconds: 3700)
            if writer == .hold { try mute(in: world, minutes: nil) }
        case .move:
            world.variables["TURNSTONE_SHARDS"] = "2"
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
            try world.run("deliver")
            try world.advance(seconds: 3700)
        default: break
        }
        return (world, id)
    }

    private func mute(_ user: String = "ann", in world: World, minutes: Int64?) throws {
        let end = minutes.map { Timestamp(milliseconds: world.now) + .minutes($0) }
        try world.change(user) { $0.preferences.mutedUntil = end }
    }

    /// What became of a file's lines.
    enum Damage: CaseIterable, Sendable {
        case lastMissing, firstDeviceMissing, lastTwice
    }

    private func damage(_ name: String, of world: World, _ damage: Damage) throws {
        var lines = try #require(world.state.read(name)).split(separator: UInt8(ascii: "\n"))
        switch damage {
        case .lastMissing: lines.removeLast()
        case .firstDeviceMissing: lines.remove(at: 1)
        case .lastTwice: try lines.append(#require(lines.last))
        }
        let text = lines.joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")]
        try world.state.write(text, to: name)
    }

    @Test(
        "is set aside, and the device that it has lost is not forgotten",
        arguments: Writer.allCases,
        Damage.allCases)
    func cut(writer: Writer, damage: Damage) throws {
        let (world, id) = try notification(by: writer)
        let name = try #require(world.spooled().sorted().first { $0.contains(id) })
        // A held message's box is that of one device, which is sent all the same.
        let isHeldTwice = writer == .hold && damage == .lastTwice
        try self.damage(name, of: world, damage)
        for _ in 0..<2 { try world.run("deliver") }
        let left = world.spooled().filter { $0.contains(id) }
        #expect(left.allSatisfy { $0.contains("/failed/") })
        #expect(left.count == (isHeldTwice ? 0 : 1), "\(left)")
        let report = try world.report(id)
        if damage != .lastTwice {
            #expect(report["counts"]?.object?["damaged"] != nil, "\(report)")
        }
        #expect(report["state"] != "sending" && report["state"] != "waiting", "\(report)")
        let pushes = try world.acceptedIDs()
        #expect(Set(pushes).count == pushes.count)
    }

    @Test(
        "also if the number of queues has changed, and the other parts are sent", arguments: [1, 3])
    func moved(shards: Int) throws {
        let world = try World.withAllServices()
        let users = (1...6).map { "user-\($0)" }
        for (number, user) in users.enumerated() { try world.give(user, devices: [number]) }
        world.variables["TURNSTONE_SHARDS"] = "\(4 - shards)"
        let id = try world.sent([
            "users": .array(users.map { .string($0) }), "title": "Hello", "expires_in": 86_400,
        ])
        let names = world.spooled().sorted().filter { $0.contains(id) }
        try damage(#require(names.first), of: world, .lastMissing)
        world.variables["TURNSTONE_SHARDS"] = "\(shards)"
        for _ in 0..<2 { try world.run("deliver") }
        let report = try world.report(id)
        #expect(report["counts"]?.object?["waiting"] == nil, "\(report)")
        #expect(report["counts"]?.object?["damaged"] != nil, "\(report)")
        if names.count > 1 { #expect(try !world.acceptedIDs().isEmpty) }
        #expect(world.spooled().allSatisfy { $0.contains("/failed/") })
    }

    @Test(
        "once it is repaired, its report says what became of it", arguments: ["apns", "fcm", "web"])
    func repaired(service: String) throws {
        let (world, id) = try notification(by: .severalServices)
        let name = try #require(
            world.spooled().first { $0.contains("\(service)/") && $0.contains(id) })
        let whole = try #require(world.state.read(name))
        try damage(name, of: world, .lastMissing)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 2, "damaged": 1])
        let failed = try #require(world.spooled().first { $0.contains(id) })
        try world.state.remove(failed)
        try world.state.write(whole, to: "spool/\(service)/ready/normal/\(id).jsonl")
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        #expect(try world.report(id)["state"] == "done")
    }

    @Test("also after it was set aside because the number of queues had changed")
    func repairedAfterMove() throws {
        let world = try World.withAllServices()
        let users = (1...3).map { "user-\($0)" }
        for (number, user) in users.enumerated() { try world.give(user, devices: [number]) }
        world.variables["TURNSTONE_SHARDS"] = "3"
        let id = try world.sent([
            "users": .array(users.map { .string($0) }), "title": "Hello", "expires_in": 86_400,
        ])
        let name = try #require(world.spooled().sorted().last { $0.contains(id) })
        let whole = try #require(world.state.read(name))
        try damage(name, of: world, .lastMissing)
        world.variables["TURNSTONE_SHARDS"] = "1"
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"]?.object?["damaged"] != nil)
        try world.state.remove(#require(world.spooled().first { $0.contains(id) }))
        try world.state.write(whole, to: name)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        #expect(try world.report(id)["state"] == "done")
    }

    @Test("once it is repaired, nobody is told twice", arguments: [0, 40], [false, true])
    func toldOnce(hours: Int64, isMoved: Bool) throws {
        let (world, id) = try notification(by: .largeAcceptance)
        world.variables["TURNSTONE_SHARDS"] = "1"
        let name = try #require(world.spooled().first { $0.contains(id) })
        let whole = try #require(world.state.read(name))
        let lines = whole.split(separator: UInt8(ascii: "\n"))
        let cut = lines.prefix(700).joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")]
        try world.state.write(cut, to: name)
        try world.run("deliver")
        let told = try world.acceptedIDs().count
        #expect((1..<1003).contains(told))
        try world.advance(seconds: hours * 3600)
        _ = try world.sent(["users": ["ann"], "title": "Another"])
        try world.run("deliver")
        try world.state.remove(#require(world.spooled().first { $0.contains(id) }))
        let file = try #require(name.split(separator: "/").last)
        let text = String(decoding: whole, as: UTF8.self)
        try world.state.write(
            // It may still be sent.
            text.replacing(
                try Regex(#""expires_at":[0-9]+"#), with: #""expires_at":4000000000000"#,
                maxReplacements: 1),
            to: "spool/apns/ready/normal/\(file)")
        if isMoved { world.variables["TURNSTONE_SHARDS"] = "2" }
        for _ in 0..<2 { try world.run("deliver") }
        let pushes = try world.acceptedIDs()
        #expect(pushes.count == 1003 + 3)
        #expect(Set(pushes).count == pushes.count)
        #expect(try world.report(id)["counts"] == ["accepted": 1003])
        #expect(try world.report(id)["state"] == "done")
        #expect(!world.state.files().keys.contains { $0.contains("/repairs/") })
    }

    @Test(
        "what it added to a badge is taken back though its first line is lost, too",
        arguments: ["", "garbage{\n"])
    func badgeWithoutFirstLine(text: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["ann"], "title": "Hello", "badge": "+3"])
        try world.run("deliver")
        let ann = try #require(UserID("ann"))
        #expect(try world.openState().users[ann].read()?.badge == 3)
        try world.state.write(text, to: #require(world.spooled().first { $0.contains(id) }))
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        #expect(try world.openState().users[ann].read()?.badge ?? 0 == 0)
    }

    @Test(
        "also if it is repaired wrongly first, or what was noted of it is lost",
        arguments: ["twice", "no note", "first line"])
    func repairedTwice(way: String) throws {
        let (world, id) = try notification(by: .largeAcceptance)
        let name = try #require(world.spooled().first { $0.contains(id) })
        let whole = try #require(world.state.read(name))
        let end = [UInt8(ascii: "\n")]
        let lines = whole.split(separator: UInt8(ascii: "\n"))
        try world.state.write(lines.prefix(300).joined(separator: end) + end, to: name)
        try world.run("deliver")
        let note = try #require(world.state.files().keys.first { $0.contains("/repairs/") })
        let target = "spool/apns/ready/normal/\(id).jsonl"
        func putBack(_ text: [UInt8]) throws {
            for name in world.spooled() where name.contains(id) { try world.state.remove(name) }
            try world.state.write(text, to: target)
            try world.run("deliver")
        }
        switch way {
        case "twice": try putBack(lines.prefix(700).joined(separator: end) + end)
        case "first line": try putBack([UInt8(ascii: "?")] + whole)
        default: try world.state.write("", to: note)
        }
        if way == "twice" {
            // What was told meanwhile has its outcome, and the rest is damaged.
            let counts = try #require(world.report(id)["counts"]?.object)
            #expect(counts["accepted"]?.integer ?? 0 > 300, "\(counts)")
            #expect(
                try world.receipts().filter { $0["outcome"] == "damaged" && $0["n"] == nil }.count
                    == 2)
        }
        try putBack(whole)
        let pushes = try world.acceptedIDs()
        #expect(pushes.count == 1003)
        #expect(Set(pushes).count == pushes.count)
        #expect(try world.report(id)["counts"] == ["accepted": 1003])
    }

    /// A message to ann that was held, and counted when its release was first tried.
    private func triedRelease() throws -> (world: World, id: String) {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try mute(in: world, minutes: 60)
        let id = try world.sent([
            "users": ["ann"], "title": "Hello", "badge": "+1", "expires_in": 86_400,
        ])
        try world.run("deliver")
        try world.advance(seconds: 3700)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        return (world, id)
    }

    /// Lets a release go back into its box.
    private func putBack(in world: World) throws {
        try mute(in: world, minutes: 60)
        try world.advance(seconds: 2_000)
        try world.run("deliver")
    }

    @Test(
        "a held message that cannot be read is set aside though its user's document cannot be read either"
    )
    func heldWithDamagedDocument() throws {
        let (world, id) = try triedRelease()
        try putBack(in: world)
        try world.state.write(
            "", to: #require(world.spooled().first { $0.contains("/\(id).jsonl") }))
        let document = try #require(
            world.state.files().keys.first { $0.hasSuffix("/ann.json") && $0.hasPrefix("users/") })
        try world.state.write("{", to: document)
        try world.advance(seconds: 7200)
        for _ in 0..<2 { _ = try world.start("deliver").end() }
        #expect(world.state.files().keys.contains { $0.contains("/failed/\(id)") })
        #expect(!world.spooled().contains { $0.contains("/held/") }, "\(world.spooled())")
    }

    @Test(
        "what a held message added to a badge is taken back if its file is damaged before it arrives",
        arguments: [false, true])
    func heldBadge(isPutBack: Bool) throws {
        let (world, id) = try triedRelease()
        let ann = try #require(UserID("ann"))
        #expect(try world.openState().users[ann].read()?.badge == 1)
        if isPutBack { try putBack(in: world) }
        try world.state.write(
            "", to: #require(world.spooled().first { $0.contains("/\(id).jsonl") }))
        try world.advance(seconds: 7_200)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["damaged": 1])
        #expect(try world.openState().users[ann].read()?.badge ?? 0 == 0)
    }

    @Test(
        "while the document is locked that a badge is in, the file stays and others' messages are sent",
        arguments: [false, true])
    func lockedBadge(hasFirstLine: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("ben", devices: 2...2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["ann"], "title": "Hello", "badge": "+1"])
        try world.run("deliver")
        let name = try #require(world.spooled().first { $0.contains(id) })
        if hasFirstLine {
            try damage(name, of: world, .lastMissing)
        } else {
            try world.state.write("", to: name)
        }
        let other = try world.sent(["users": ["ben"], "title": "Hello"])
        try world.advance(seconds: 2_000)
        let document = try #require(
            world.state.files().keys.first { $0.hasSuffix("/ann.json") && $0.hasPrefix("users/") })
        let lock = try SharedLock.open(of: document, in: world.state)
        #expect(try lock.tryLock())
        let ended = try world.start("deliver").end()
        #expect([0, 111].contains(ended.exitCode), "\(ended.stderr)")
        lock.unlock()
        #expect(try world.report(other)["counts"] == ["accepted": 1])
        #expect(!world.spooled().isEmpty)
        try world.run("deliver")
        #expect(world.spooled().allSatisfy { $0.contains("/failed/") })
        let ann = try #require(UserID("ann"))
        #expect(try world.openState().users[ann].read()?.badge ?? 0 == 0)
        let lines = try world.receipts().filter { $0["outcome"] == "damaged" }
        #expect(lines.count == 1, "\(lines)")
    }

    @Test("an operator finds the folder to which a repaired file is moved")
    func target() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Hello", "interruption_level": "time-sensitive",
        ])
        let name = try #require(world.spooled().first { $0.contains(id) })
        try world.state.write("{", to: name)
        try? FileManager.default.removeItem(atPath: "\(world.state.path)/spool/apns/ready/normal")
        try world.run("deliver")
        var isFolder: ObjCBool = false
        let path = "\(world.state.path)/spool/apns/ready/normal"
        #expect(FileManager.default.fileExists(atPath: path, isDirectory: &isFolder))
        #expect(isFolder.boolValue)
    }

    @Test(
        "a held message that was cancelled before its file was damaged stays cancelled",
        arguments: ["", "gone"])
    func cancelledWhileHeld(text: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try mute(in: world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.run("deliver")
        let answer = try world.callOff(id)
        #expect(answer.json?.object?["state"] == "cancelled", "\(answer.body)")
        let name = try #require(world.spooled().first { $0.contains(id) })
        if text == "gone" {
            try world.state.remove(name)
        } else {
            try world.state.write(text, to: name)
        }
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        try world.advance(seconds: 3700)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(try world.report(id)["state"] == "cancelled")
    }

    @Test("in a box, a link to nothing is set aside, and the rest is sent")
    func linkInBox() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try mute(in: world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        let other = try world.sent(["users": ["ann"], "title": "Another"])
        try world.run("deliver")
        let name = try #require(world.spooled().first { $0.contains(id) })
        try world.state.remove(name)
        try FileManager.default.createSymbolicLink(
            atPath: "\(world.state.path)/\(name)", withDestinationPath: "/not/there")
        try world.advance(seconds: 3700)
        try world.run("deliver")
        #expect(try world.report(other)["counts"] == ["accepted": 1])
        #expect(try world.report(id)["counts"] == ["damaged": 1])
        #expect(world.spooled().allSatisfy { $0.contains("/failed/") }, "\(world.spooled())")
        let released = "\(world.state.path)/spool/apns/held/released"
        let left = try? FileManager.default.contentsOfDirectory(atPath: released)
        #expect(left?.isEmpty ?? true, "\(left ?? [])")
    }

    @Test("what it added to badges is taken back before it moves to another number of queues")
    func badgeOfMove() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("ben", devices: 2...2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        let id = try world.sent([
            "users": ["ann", "ben"], "title": "Hello", "badge": "+1", "expires_in": 86_400,
        ])
        try world.run("deliver")
        let state = try world.openState()
        let users = try ["ann", "ben"].map { try #require(UserID($0)) }
        for user in users { #expect(try state.users[user].read()?.badge == 1) }
        try damage(#require(world.spooled().first { $0.contains(id) }), of: world, .lastMissing)
        world.variables["TURNSTONE_SHARDS"] = "3"
        try world.advance(seconds: 2_000)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["damaged": 2])
        for user in users { #expect(try state.users[user].read()?.badge ?? 0 == 0) }
    }

    @Test("what it added to the badge of a user whom it may have reached is not taken back")
    func badgeInDoubt() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "reset", "code": 2, "accepted": true, "count": 50,
        ])
        let id = try world.sent(["users": ["ann"], "title": "Hello", "badge": "+1"])
        _ = try world.start("deliver").end()
        let name = try #require(world.spooled().first { $0.contains(id) })
        #expect(try world.openState().users[#require(UserID("ann"))].read()?.badge == 1)
        try damage(name, of: world, .lastMissing)
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        let ann = try #require(UserID("ann"))
        #expect(try world.openState().users[ann].read()?.badge == 1)
    }

    @Test(
        "one that is cancelled when nobody has found the damage yet is not sent",
        arguments: Damage.allCases)
    func cancelled(damage: Damage) throws {
        let (world, id) = try notification(by: .acceptance)
        let name = try #require(world.spooled().first { $0.contains(id) })
        try self.damage(name, of: world, damage)
        let answer = try world.callOff(id)
        #expect(answer.status == 200, "\(answer.body)")
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        #expect(world.spooled().allSatisfy { $0.contains("/failed/") })
    }

    @Test("what it added to a badge is taken back", arguments: [false, true])
    func badge(isForSeveral: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.give("ben", devices: 3...3)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        let users: JSONValue = isForSeveral ? ["ann", "ben"] : ["ann"]
        let id = try world.sent(["users": users, "title": "Hello", "badge": "+1"])
        try world.run("deliver")
        let state = try world.openState()
        let ann = try #require(UserID("ann"))
        #expect(try state.users[ann].read()?.badge == 1)
        let name = try #require(world.spooled().first { $0.contains(id) })
        try damage(name, of: world, .firstDeviceMissing)
        try world.simulator.perform(["do": "apns-fault", "status": 410, "reason": "Unregistered"])
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        #expect(try world.report(id)["counts"]?.object?["damaged"] != nil)
        #expect(try state.users[ann].read()?.badge ?? 0 == 0)
    }

    @Test("a held message whose file is gone is not held for ever")
    func gone() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try mute(in: world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        try world.run("deliver")
        try world.state.remove(#require(world.spooled().first))
        #expect(try world.report(id)["counts"] == ["damaged": 1])
        #expect(try world.callOff(id).status == 200)
    }

    @Test(
        "a message that is held alone and cannot be read is reported, whatever becomes of others",
        arguments: ["", "{}\n", "{\n"])
    func held(text: String) throws {
        let (world, id) = try notification(by: .hold)
        let name = try #require(world.spooled().sorted().first { $0.contains(id) })
        try world.state.write(text, to: name)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 2, "damaged": 1])
        #expect(world.spooled().map { $0.contains("/failed/") } == [true])
    }

    @Test("while other devices wait, it is being sent")
    func heldElsewhere() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        try world.give("ben", devices: 4...4)
        try mute("ann", in: world, minutes: 600)
        try mute("ben", in: world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Another"])
        let both = try world.sent(["users": ["ann", "ben"], "title": "Hello"])
        try world.run("deliver")
        let names = world.spooled().filter { $0.contains(both) }
        let name = try #require(
            names.first {
                String(decoding: world.state.read($0) ?? [], as: UTF8.self).contains("ben")
            })
        try world.state.write("", to: name)
        try world.advance(seconds: 3700)
        try world.run("deliver")
        let report = try world.report(both)
        #expect(report["counts"] == ["damaged": 1, "held": 3], "\(report)")
        #expect(report["state"] == "sending", "\(report)")
        #expect(try world.report(id)["state"] == "waiting")
    }

    @Test("one that cannot even be moved is recorded once")
    func unmovable() throws {
        let (world, id) = try notification(by: .hold)
        let names = world.spooled().filter { $0.contains(id) }
        for name in names { try world.state.write("", to: name) }
        try world.state.write("no folder", to: "spool/apns/failed")
        world.variables["DELIVER_LINGER_SECONDS"] = "3"
        try world.run("deliver")
        let lines = try world.receipts().filter { $0["outcome"] == "damaged" }
        #expect(lines.count == names.count, "\(lines)")
    }

    @Test("beside another of the same box, too, which is sent")
    func unmovableBesideAnother() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        try mute(in: world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        let other = try world.sent(["users": ["ann"], "title": "Another"])
        try world.run("deliver")
        for name in world.spooled() where name.contains(id) { try world.state.write("", to: name) }
        try world.state.write("no folder", to: "spool/apns/failed")
        try world.advance(seconds: 3700)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        world.variables["DELIVER_LINGER_SECONDS"] = "3"
        try world.run("deliver")
        try world.state.remove("spool/apns/failed")
        try world.advance(seconds: 3700)
        try world.run("deliver")
        #expect(try world.report(other)["counts"] == ["accepted": 3])
        #expect(try world.report(id)["counts"] == ["damaged": 3])
        #expect(world.state.files().keys.filter { $0.contains("/failed/\(id)") }.count == 3)
    }

    @Test("also a large one in which a phone has several users, after all that is left was sent")
    func largeWithAlternates() throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        var users: [JSONValue] = ["1", "2"]
        for number in 1...10 {
            let user = "user-\(number)"
            try world.give(user, devices: (number * 100)...(number * 100 + 99))
            users.append(.string(user))
        }
        let id = try world.sent(["users": .array(users), "title": "Hello"])
        let name = try #require(world.spooled().first { $0.contains(id) })
        let lines = try #require(world.state.read(name)).split(separator: UInt8(ascii: "\n"))
        try world.state.write(
            lines.dropLast().joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")],
            to: name)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count >= 1_000)
    }

    @Test("and the whole file is sent", arguments: Writer.allCases)
    func whole(writer: Writer) throws {
        let (world, id) = try notification(by: writer)
        for _ in 0..<2 { try world.run("deliver") }
        let report = try world.report(id)
        #expect(report["state"] == "done", "\(report)")
        #expect(report["counts"]?.object?.members.map(\.name) == ["accepted"], "\(report)")
        #expect(world.spooled().isEmpty)
    }
}
