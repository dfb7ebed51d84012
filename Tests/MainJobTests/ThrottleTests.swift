import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// A message of which only so many pushes leave in a minute.
@Suite struct ThrottleTests {
    /// The throttled message of the world's users goes out in steps of half a minute.
    private func steps(_ world: World, _ count: Int, of seconds: Int64 = 31) throws -> [Int64] {
        var counts: [Int64] = []
        for _ in 0..<count {
            try world.run("deliver")
            counts.append(try world.accepted().values.reduce(0, +))
            try world.advance(seconds: seconds)
        }
        return counts
    }

    @Test func allServicesTogetherKeepToIt() throws {
        let world = try World.withAllServices()
        for player in Int64(1)...2 { try world.registerAllKinds(of: player, Int(player)) }
        let id = try world.sent([
            "users": ["1", "2"], "title": "Slow", "throttle_per_minute": 2,
        ])
        let counts = try steps(world, 4)
        // One each 31 s.
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= 1 } && counts[0] <= 1)
        var report = try world.report(id)
        #expect(report["state"] == "sending" && report["throttlePerMinute"] == 2)
        #expect(report["counts"]?.object?["waiting"]?.integer == 6 - counts[3])

        // It delays no other message.
        let other = try world.sent(["users": ["1"], "title": "Fast"])
        try world.run("deliver")
        #expect(try world.report(other)["counts"] == ["accepted": 3])

        for _ in 0..<8 {
            try world.advance(seconds: 31)
            try world.run("deliver")
        }
        report = try world.report(id)
        #expect(report["state"] == "done" && report["counts"] == ["accepted": 6])
        #expect(world.spooled().isEmpty)
        #expect(!world.state.files().keys.contains { $0.hasPrefix("spool/throttles/") })
    }

    @Test func itExpiresAndIsCancelledMidway() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        let body: JSONObject = ["users": ["ann"], "title": "Slow", "throttle_per_minute": 2]
        let first = try world.sent(body)
        try world.run("deliver")
        try world.advance(seconds: 31)
        try world.run("deliver")
        let answer = try world.callOff(first)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(try world.report(first)["counts"] == ["accepted": 2, "cancelled": 1])
        #expect(!world.state.files().keys.contains { $0.hasPrefix("spool/throttles/") })

        var short = body
        short["expires_in"] = 40
        let second = try world.sent(short)
        try world.run("deliver")
        try world.advance(seconds: 41)
        try world.run("deliver")
        #expect(try world.report(second)["counts"] == ["accepted": 1, "expired": 2])
        #expect(try world.acceptedIDs().count == 3)
        #expect(world.spooled().isEmpty)
    }

    @Test func quietHoursHoldItWithoutABurstAtTheirEnd() throws {
        let world = try World()
        try world.give("ann", devices: 1...3)
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(20)
        }
        let id = try world.sent(["users": ["ann"], "title": "Slow", "throttle_per_minute": 2])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["waiting": 3])
        try world.advance(seconds: 1200)
        for count in 1...3 {
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == count)
            try world.advance(seconds: 31)
        }
        #expect(try world.report(id)["state"] == "done")
    }

    @Test func aFailedPushCountsAndIsRepeated() throws {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["ann"], "title": "Slow", "throttle_per_minute": 2])
        var requests: [Int] = []
        for _ in 0..<8 {
            try world.run("deliver")
            requests.append(try world.simulator.pushes().count)
            try world.advance(seconds: 31)
        }
        #expect(zip(requests, requests.dropFirst()).allSatisfy { $1 - $0 <= 1 })
        #expect(requests.last == 3)
        #expect(try world.report(id)["counts"] == ["accepted": 2])
    }

    @Test(
        "a refused push of a throttled message counts on no badge while the others are still to come"
    )
    func badge() throws {
        let world = try World()
        for user in 1...3 { try world.register(token(user), of: Int64(user)) }
        try world.simulator.perform([
            "do": "apns-fault", "status": 400, "reason": "PayloadEmpty", "token": .string(token(1)),
        ])
        _ = try world.sent([
            "users": ["1", "2", "3"], "title": "T", "badge": "+1", "throttle_per_minute": 1,
        ])
        var runs = 0
        while try world.simulator.pushes().allSatisfy({ $0["token"] != .string(token(1)) }) {
            try world.advance(seconds: 61)
            try world.run("deliver")
            runs += 1
            try #require(runs < 5)
        }
        #expect(try world.document(1)["badge"] ?? 0 == 0)
        for _ in 0..<6 {
            try world.advance(seconds: 61)
            try world.run("deliver")
        }
        for user in 2...3 { #expect(try world.document(Int64(user))["badge"] == 1) }
        #expect(try world.document(1)["badge"] ?? 0 == 0)
    }
}
