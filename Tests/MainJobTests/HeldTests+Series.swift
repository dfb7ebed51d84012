import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

// Held messages that a newer held message of their series replaces: they end when that one arrives.
extension HeldTests {
    private func old(_ more: JSONObject = [:], _ name: String = "collapse_id") -> JSONObject {
        message("Old", more, name)
    }

    private func new(_ more: JSONObject = [:], _ name: String = "collapse_id") -> JSONObject {
        message("New", more, name)
    }

    private func message(_ title: String, _ more: JSONObject, _ name: String) -> JSONObject {
        var message = more
        message["title"] = .string(title)
        message[name] = "x"
        return message
    }

    private func counts(_ world: World, _ ids: String...) throws -> [JSONValue?] {
        try ids.map { try world.report($0)["counts"] }
    }

    private func fault(_ world: World, _ more: JSONObject) throws {
        var fault: JSONObject = ["do": "apns-fault", "count": 1]
        for member in more.members { fault[member.name] = member.value }
        try world.simulator.perform(fault)
    }

    private func device(_ world: World, _ id: String) throws -> JSONObject? {
        try world.report(id)["devices"]?.array?.first?.object
    }

    @Test(
        "a held message comes if the one that replaces it ends before it is sent",
        arguments: ["collapse_id", "subject"], ["expired", "cancelled"])
    func newerEndsInBox(name: String, end: String) throws {
        let world = try muted()
        let older = try send(world, old([:], name))
        let taxi = try send(world, ["title": "Taxi", "expires_in": 60])
        let newer = try send(world, new(end == "expired" ? ["expires_in": 1200] : [:], name))
        // The box is looked at because the taxi's message expires.
        try goOn(world, minutes: 2)
        #expect(
            try counts(world, older, taxi, newer) == [["held": 1], ["expired": 1], ["held": 1]])
        if end == "cancelled" { #expect(try world.callOff(newer).status == 200) }
        try goOn(world, minutes: 30)
        try goOn(world, minutes: 30)
        #expect(try titles(world) == ["Old"])
        #expect(try counts(world, older, newer) == [["accepted": 1], [.init(end): 1]])
        #expect(isEmpty(world))
    }

    @Test("one that was scheduled is replaced by one that is accepted after its moment")
    func scheduledState() throws {
        let world = try muted()
        let older = try send(
            world, old(["send_after": .integer(world.now / 1000 + 1_200), "badge": "+1"]))
        try goOn(world, minutes: 25)
        let newer = try send(world, new(["badge": "+1"]))
        try goOn(world, minutes: 60)
        #expect(try titles(world) == ["New"])
        #expect(try counts(world, older, newer) == [["superseded": 1], ["accepted": 1]])
        #expect(
            try world.simulator.pushes().last?["payload"]?.object?["aps"]?.object?["badge"] == 1)
    }

    @Test("what a hidden message replaces is hidden, too, also if the release may have arrived")
    func chain() throws {
        let world = try muted()
        let first = try send(world, ["title": "One", "collapse_id": "x"])
        let second = try send(world, ["title": "Two", "collapse_id": "x", "subject": "y"])
        let third = try send(world, ["title": "Three", "subject": "y"])
        try fault(world, ["kind": "drop", "accepted": true])
        try goOn(world)
        try goOn(world, minutes: 30)
        #expect(try titles(world).allSatisfy { $0 == "Three" })
        #expect(
            try counts(world, first, second, third) == [
                ["superseded": 1], ["superseded": 1], ["accepted": 1],
            ])
        #expect(isEmpty(world))
    }

    @Test(
        "a held message comes if the one that replaces it ends while their release is put off",
        arguments: ["expired", "cancelled", "muted"])
    func newerEndsInRelease(end: String) throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new(end == "cancelled" ? [:] : ["expires_in": 3660]))
        try fault(world, ["status": 503, "retry_after": 120])
        try goOn(world)
        #expect(try counts(world, older, newer) == [["held": 1], ["held": 1]])
        if end == "muted" { try mute(world, minutes: 10) }
        if end == "cancelled" { #expect(try world.callOff(newer).status == 202) }
        try goOn(world, minutes: 4)
        try goOn(world, minutes: 10)
        #expect(try titles(world) == ["Old"])
        let outcome = end == "cancelled" ? "cancelled" : "expired"
        #expect(try counts(world, older, newer) == [["accepted": 1], [.init(outcome): 1]])
        #expect(isEmpty(world))
    }

    @Test(
        "a held message that is hidden does not come before the pause is over that APNs asked for")
    func hiddenWaitsForAPNs() throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new(["expires_in": 3660]))
        try fault(world, ["status": 503, "retry_after": 1200])
        try goOn(world)
        for _ in 1...9 { try goOn(world, minutes: 2) }
        #expect(try world.simulator.apns()["requests"] == 1)
        try goOn(world, minutes: 10)
        #expect(try titles(world) == ["Old"])
        #expect(try counts(world, older, newer) == [["accepted": 1], ["expired": 1]])
    }

    @Test("a held message ends as replaced when the release is accepted, and is not counted in it")
    func endsWithRelease() throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new())
        let other = try send(world, ["title": "Other"])
        try fault(world, ["status": 503])
        try goOn(world)
        #expect(try device(world, older)?["state"] == "held")
        try goOn(world)
        #expect(try payloads(world).map { $0["merged"] } == [2])
        #expect(try counts(world, newer, other) == [["accepted": 1], ["accepted": 1]])
        let ended = try device(world, older)
        #expect(ended?["state"] == "superseded" && ended?["reason"] == "newer")
        #expect(ended?["mayHaveArrived"] == nil)
        #expect(isEmpty(world))
    }

    @Test("a held message comes if the one that replaces it is refused")
    func newerRefused() throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new())
        try fault(world, ["status": 400, "reason": "BadMessageId"])
        try goOn(world)
        try goOn(world, minutes: 1)
        #expect(try titles(world) == ["Old"])
        #expect(try counts(world, older, newer) == [["accepted": 1], ["refused": 1]])
        #expect(isEmpty(world))
    }

    @Test(
        "a drainer that is killed after a refusal loses no message behind the refused one",
        arguments: [false, true])
    func killedAfterRefusal(isPutBack: Bool) throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new())
        try fault(world, ["status": 503])
        try goOn(world)
        let before = world.state.files().filter { $0.key.hasPrefix("spool/apns/") }
        try fault(world, ["status": 400, "reason": "BadMessageId"])
        // For the second release.
        try fault(world, ["status": 503])
        try world.advance(seconds: 1800)
        try world.run("deliver")
        #expect(try counts(world, older, newer) == [["held": 1], ["refused": 1]])
        // What is left if it was killed before it ended the release.
        for (path, bytes) in before where path.hasSuffix(".jsonl") {
            if isPutBack, path.hasSuffix("\(older).jsonl") { continue }
            try world.state.write(String(decoding: bytes, as: UTF8.self), to: path)
        }
        for path in world.state.files().keys
        where !isPutBack && path.hasPrefix("spool/apns/") && before[path] == nil {
            unlink("\(world.state.path)/\(path)")
        }
        unlink("\(world.state.path)/spool/apns/checkpoint.json")
        for _ in 0..<3 { try goOn(world, minutes: 30) }
        #expect(try titles(world) == ["Old"])
        #expect(try counts(world, older, newer) == [["accepted": 1], ["refused": 1]])
        #expect(isEmpty(world))
    }

    @Test("a held message does not follow the one that replaces it and may have arrived")
    func newerInDoubt() throws {
        let world = try muted()
        let older = try send(world, old())
        let newer = try send(world, new(["expires_in": 3660]))
        try fault(world, ["kind": "drop", "accepted": true])
        try goOn(world)
        try mute(world, minutes: 10)
        for _ in 0..<3 { try goOn(world, minutes: 10) }
        #expect(try world.simulator.pushes().count == 1)
        #expect(try counts(world, older, newer) == [["superseded": 1], ["expired": 1]])
        #expect(try device(world, older)?["mayHaveArrived"] == nil)
        #expect(try device(world, newer)?["mayHaveArrived"] == true)
        #expect(isEmpty(world))
    }

    @Test("a message that was counted and is then replaced in its box leaves the badge")
    func badgeOfReplaced() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try fault(world, ["status": 503])
        _ = try send(world, old(["badge": "+1"]))
        try mute(world, minutes: 60)
        try goOn(world, minutes: 30)
        _ = try send(world, new(["badge": "+1"]))
        try goOn(world)
        #expect(try titles(world).first == "New")
        #expect(try badges(world).last == 1)
        #expect(isEmpty(world))
    }

    @Test("of many held messages of a series, the oldest end: only cancelling would bring them")
    func manyReplaced() throws {
        let world = try muted()
        let lasting = try send(world, old())
        let short = try send(world, ["title": "Taxi", "expires_in": 60])
        var states: [String] = []
        for _ in 0..<30 { states.append(try send(world, new(["expires_in": 1800]))) }
        try goOn(world, minutes: 2)
        #expect(try counts(world, short, lasting) == [["expired": 1], ["held": 1]])
        let held = try states.map { try world.report($0)["counts"] == ["held": 1] }
        #expect(held == Array(repeating: false, count: 10) + Array(repeating: true, count: 20))
        try goOn(world, minutes: 60)
        #expect(try titles(world) == ["Old"])
        #expect(isEmpty(world))
    }
}
