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
}
