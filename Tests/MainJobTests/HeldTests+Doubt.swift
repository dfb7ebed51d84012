import Foundation
import TestSupport
import Testing
import Turnstone

/// Held messages whose release may have arrived.
extension HeldTests {
    /// A world in which the release of messages to ann's phone has got no answer.
    ///
    /// - Returns: the messages' ids as well.
    private func doubtful(
        _ messages: [JSONObject], isTaken: Bool = false
    ) throws -> (World, [String]) {
        let world = try muted()
        let ids = try messages.map { try send(world, $0) }
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": .bool(isTaken), "count": 1,
        ])
        try goOn(world)
        #expect(try world.simulator.pushes().count == 1)
        return (world, ids)
    }

    private func counts(_ world: World, _ ids: [String]) throws -> [JSONValue?] {
        try ids.map { try world.report($0)["counts"] }
    }

    @Test(
        "a release in doubt brings nothing that was replaced or cleared meanwhile",
        arguments: ["collapse_id", "subject"], [false, true])
    func replacedInDoubt(name: String, isAlone: Bool) throws {
        let old: JSONObject = ["title": "Old", .init(name): "x"]
        let (world, ids) = try doubtful(isAlone ? [old] : [old, ["title": "Other"]])
        let newer: JSONObject =
            name == "subject"
            ? ["content_available": true, "subject": "x"] : ["title": "New", "collapse_id": "x"]
        let new = try send(world, newer)
        try goOn(world, minutes: 1)
        let first: JSONValue? = name == "subject" ? nil : "New"
        #expect(try titles(world) == [first] + (isAlone ? [] : ["Other"]))
        #expect(try counts(world, [ids[0], new]) == [["superseded": 1], ["accepted": 1]])
        let device = try world.report(ids[0])["devices"]?.array?.first?.object
        #expect(device?["mayHaveArrived"] == true)
        #expect(isEmpty(world))
    }

    @Test("a release in doubt brings nothing that has expired meanwhile")
    func expiredInDoubt() throws {
        let (world, ids) = try doubtful([
            ["title": "Taxi is here", "expires_in": 3630], ["title": "Other"],
        ])
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["Other"])
        #expect(try counts(world, ids) == [["expired": 1], ["accepted": 1]])
        #expect(isEmpty(world))
    }

    @Test("a release in doubt is not repeated into a mute, and comes once it is lifted")
    func mutedInDoubt() throws {
        let (world, ids) = try doubtful([["title": "A"], ["title": "B"]])
        try mute(world, minutes: 3 * 24 * 60)
        try goOn(world, minutes: 1)
        for _ in 0..<3 { try goOn(world, minutes: 24 * 60 - 10) }
        #expect(try titles(world) == [])
        try mute(world, minutes: nil)
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["2 new notifications"])
        #expect(try counts(world, ids) == [["accepted": 1], ["accepted": 1]])
        #expect(Set(try world.simulator.pushes().compactMap { $0["apns_id"]?.string }).count == 1)
        #expect(isEmpty(world))
    }

    @Test(
        "a message in doubt that meets a mute comes within a minute of its end",
        arguments: [5, 200])
    func plainMutedInDoubt(minutes: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "count": 1])
        let id = try send(world, ["title": "A"])
        try mute(world, minutes: 30 * 60)
        for _ in 0..<5 { try goOn(world, minutes: minutes) }
        #expect(try titles(world) == [])
        try mute(world, minutes: nil)
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["A"])
        #expect(try counts(world, [id]) == [["accepted": 1]])
    }

    @Test("to have waited for the end of a mute does not count as having failed")
    func backOff() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "count": 1])
        _ = try send(world, ["title": "A"])
        try mute(world, minutes: 61)
        for _ in 0..<20 { try goOn(world, minutes: 3) }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try goOn(world, minutes: 1)
        #expect(try titles(world) == [])
        try goOn(world, minutes: 40)
        #expect(try titles(world) == ["A"])
    }

    @Test("a release in doubt brings nothing of a kind that was switched off meanwhile")
    func unwantedInDoubt() throws {
        let (world, ids) = try doubtful([["title": "A", "badge": "+1"], ["title": "B"]])
        try world.change("ann") { $0.preferences.kinds = ["message": false] }
        try goOn(world, minutes: 1)
        #expect(try titles(world) == [])
        #expect(try counts(world, ids) == [["superseded": 1], ["superseded": 1]])
        #expect(isEmpty(world))
    }

    @Test("what may have arrived in a release is not called off")
    func calledOffInDoubt() throws {
        let (world, ids) = try doubtful([["title": "A"], ["title": "B"]], isTaken: true)
        #expect(try world.callOff(ids[0]).status == 202)
        try goOn(world, minutes: 1)
        #expect(try counts(world, ids) == [["accepted": 1], ["accepted": 1]])
        #expect(Set(try world.acceptedIDs()).count == 1)
        #expect(isEmpty(world))
    }

    @Test(
        "an older push does not follow a newer one that may have arrived and then meets a mute",
        arguments: [
            ["title": "Old", "interruption_level": "time-sensitive"], ["content_available": true],
        ]
            as [JSONObject])
    func olderIntoMute(older: JSONObject) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        var older = older
        older["subject"] = "x"
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "retry_after": 60, "count": 1,
        ])
        let old = try send(world, older)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        let new = try send(world, ["title": "New", "subject": "x"])
        try mute(world, minutes: 30)
        for _ in 0..<5 { try goOn(world, minutes: 5) }
        // Only the two that got no good answer.
        #expect(try world.simulator.pushes().count == 2)
        for _ in 0..<3 { try goOn(world, minutes: 10) }
        #expect(try counts(world, [old, new]) == [["superseded": 1], ["accepted": 1]])
        #expect(try titles(world).last == "New")
        #expect(isEmpty(world))
    }

    @Test("an older push does not overtake a newer one that is under way as its user mutes it")
    func olderBesideNewerUnderWay() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let old = try world.sent([
            "users": ["ann"], "content_available": true, "subject": "x",
        ])
        // As if its acceptance took longer than that of the newer one.
        let path = "\(world.state.path)/\(try #require(world.spooled().first))"
        try FileManager.default.moveItem(atPath: path, toPath: path + ".late")
        world.variables["DELIVER_LINGER_SECONDS"] = "5"
        let drainer = try world.start("deliver")
        // Until a connection has brought a push, it takes one at a time.
        _ = try world.sent(["users": ["ann"], "title": "First"])
        try world.simulator.perform(["do": "wait", "pushes": 1, "ms": 20_000])
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 3000, "count": 1])
        let new = try world.sent(["users": ["ann"], "title": "New", "subject": "x"])
        try world.simulator.perform(["do": "wait", "requests": 2, "ms": 20_000])
        try mute(world, minutes: 30)
        try FileManager.default.moveItem(atPath: path + ".late", toPath: path)
        #expect(try counts(world, [new]) == [["waiting": 1]], "it is still under way")
        #expect(try drainer.end().exitCode == 0)
        #expect(try titles(world) == ["First", "New"])
        #expect(try counts(world, [old, new]) == [["superseded": 1], ["accepted": 1]])
        #expect(isEmpty(world))
    }
}
