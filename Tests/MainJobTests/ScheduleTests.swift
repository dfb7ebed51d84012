import JSON
import TestSupport
import Testing
import Turnstone

/// When messages go out that are sent for later.
@Suite struct ScheduleTests {
    @Test(
        "a message for later is delivered however short its life is",
        arguments: [1, 20, 59, 600], [599, 600, 601, 3605, 86_399])
    func shortLife(seconds: Int64, ahead: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Taxi", "expires_in": .integer(seconds),
            "send_after": .integer(world.now / 1000 + ahead),
        ])
        try world.advance(seconds: ahead - 1)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 1)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test(
        "a message that was due by a clock that was ahead waits again once the clock is right",
        arguments: [false, true])
    func clockAhead(isHeld: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "At nine",
            "send_after": .integer(world.now / 1000 + 900),
        ])
        // Half an hour ahead, it is put off or held.
        try world.advance(seconds: 1800)
        if isHeld {
            let end = Timestamp(milliseconds: world.now + 3_600_000)
            try world.change("ann") { $0.preferences.mutedUntil = end }
        } else {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        }
        try world.run("deliver")
        try world.change("ann") { $0.preferences.mutedUntil = nil }
        try world.advance(seconds: -1800)
        try world.run("deliver")
        try world.advance(seconds: 899)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a message that is tried once is tried though it was sent for later")
    func once() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent([
            "users": ["ann"], "title": "Now or never", "expiration": 0,
            "send_after": .integer(world.now / 1000 + 3605),
        ])
        try world.advance(seconds: 3605)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
