import JSON
import TestSupport
import Testing
import Turnstone

/// A machine's clock that was ahead for a while. When it is right again, nothing waits for the time that it showed.
@Suite struct ClockTests {
    @Test(
        "what was put off by a clock that was ahead goes out when it is right",
        arguments: [1100, 300])
    func putOff(seconds: Int64) throws {
        let world = try World()
        try world.accept("a", devices: 1...3, lasting: .days(1))
        try world.advance(seconds: seconds)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 0)
        try world.advance(seconds: -seconds)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 3)
        #expect(world.spooled().isEmpty)
    }

    @Test("what is to be sent at a time waits for that time, whatever the clock showed")
    func wanted() throws {
        let world = try World()
        try world.accept(
            "a", devices: 1...1, lasting: .days(1), wantedAt: world.now + 7_200_000)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        try world.advance(seconds: -3600)
        try world.run("deliver")
        #expect(try world.simulator.apns()["requests"] == 0)
        try world.advance(seconds: 7201)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 1)
    }

    @Test("OGS is asked again when the clock is right", arguments: [7200, 1200])
    func backOff(seconds: Int64) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.simulator.perform(["do": "ogs-fault", "status": 429, "retry_after": 100])
        try world.advance(seconds: seconds)
        try world.cycle()
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: -seconds)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "a player whose looks failed is looked at when the clock is right", arguments: [7200, 1200])
    func failedLooks(seconds: Int64) throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.cycle()
        try world.move()
        try world.advance(seconds: seconds)
        try world.simulator.perform(["do": "ogs-fault", "status": 500, "count": 1])
        try world.cycle()
        try world.advance(seconds: -seconds)
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("a push service that refused the provider token is asked again when the clock is right")
    func stop() throws {
        let world = try World()
        try world.accept("a", devices: 1...1)
        try world.advance(seconds: 200)
        try world.simulator.perform([
            "do": "apns-fault", "status": 403, "reason": "InvalidProviderToken", "count": 1,
        ])
        try world.run("deliver", exitCode: 111)
        try world.advance(seconds: -200)
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == 1)
    }
}
