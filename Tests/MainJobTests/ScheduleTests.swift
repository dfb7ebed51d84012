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
