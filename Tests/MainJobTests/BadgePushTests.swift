import JSON
import TestSupport
import Testing
import Turnstone

/// A change of the badge needs one push to each device, however often it is changed before that is sent.
@Suite struct BadgePushTests {
    private func put(
        _ world: World, _ badge: JSONValue, from device: Int? = nil
    ) throws {
        var body: JSONObject = ["badge": badge, "userId": "ann"]
        body["deviceToken"] = device.map { .string(token($0)) }
        let event = world.message("PUT", "/api/badge", body)
        let answer = try Answer(event: world.startBackend("badge", event).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// The badges that each device got, in their order.
    private func shown(_ world: World) throws -> [Int: [Int64]] {
        var shown: [Int: [Int64]] = [:]
        for push in try world.simulator.pushes() where push["accepted"] == true {
            let badge = push["payload"]?.object?["aps"]?.object?["badge"]?.integer
            for number in 1...3 where push["token"] == .string(token(number)) {
                shown[number, default: []].append(badge ?? -1)
            }
        }
        return shown
    }

    @Test("of many changes that wait each device gets the last one alone")
    func merged() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        for number in Int64(1)...20 { try put(world, .integer(number)) }
        #expect(world.spooled().count == 1)
        try world.run("deliver")
        #expect(try shown(world) == [1: [20], 2: [20], 3: [20]])
        try put(world, "+1")
        try world.run("deliver")
        #expect(try shown(world) == [1: [20, 21], 2: [20, 21], 3: [20, 21]])
    }

    @Test("a device that knows one number gets the next, and a new device gets it too")
    func others() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        // Longer ago than the change.
        try world.advance(seconds: 60)
        try put(world, 1, from: 1)
        try put(world, 2, from: 1)
        #expect(world.spooled().count == 1)
        try put(world, 3, from: 2)
        try world.advance(seconds: 60)
        try world.give("ann", devices: 3...3)
        try put(world, 4, from: 2)
        try world.run("deliver")
        let last = try shown(world).mapValues { $0.last }
        #expect(last[1] == 4 && last[3] == 4 && last[2] ?? 4 == 4)
    }

    @Test("a change while a push is tried again reaches every device")
    func putOff() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.simulator.perform([
            "do": "apns-fault", "status": 503, "count": 1, "token": .string(token(2)),
        ])
        try put(world, 1)
        try world.run("deliver")
        try put(world, 2)
        try world.run("deliver")
        try world.advance(seconds: 2400)
        try world.run("deliver")
        let last = try shown(world).mapValues { $0.last }
        #expect(last == [1: 2, 2: 2])
    }

    /// How a message ends on a device that has not got it.
    enum End: CaseIterable, Sendable {
        case deleted, expired, refused, replaced, unwanted
    }

    @Test(
        "a device that has not got a message shows its number all the same, if another device has got it",
        arguments: End.allCases)
    func missed(end: End) throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        var fault: JSONObject = ["do": "apns-fault", "count": 1, "token": .string(token(2))]
        fault["status"] = end == .refused ? 400 : 503
        if end == .refused { fault["reason"] = "PayloadEmpty" }
        try world.simulator.perform(fault)
        var body: JSONObject = [
            "users": ["ann"], "title": "A", "badge": "+1", "kind": "news", "collapse_id": "c",
        ]
        if end == .expired { body["expires_in"] = 600 }
        let id = try world.sent(body)
        try world.run("deliver")
        switch end {
        case .deleted: #expect(try world.callOff(id).status == 200)
        case .replaced: _ = try world.sent(["users": ["ann"], "title": "B", "collapse_id": "c"])
        case .unwanted: try world.change("ann") { $0.preferences.kinds = ["news": false] }
        case .expired, .refused: break
        }
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 1_300)
        }
        #expect(try shown(world).mapValues { $0.last } == [1: 1, 2: 1])
        #expect(try world.report(id)["counts"]?.object?["accepted"] == 1)
        #expect(try shown(world)[1]?.filter { $0 >= 0 }.count == 2)
        #expect(world.spooled().isEmpty)
    }
}
