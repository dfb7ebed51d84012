import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// What a message added to a badge is taken back from each user whom it did not reach, wherever drainers were
/// killed.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed")) struct KilledBadgeTests {
    private static let calls = "pwrite64,fsync,fdatasync,rename,unlink"

    private func begin(_ more: JSONObject = [:]) throws -> (world: World, message: String) {
        let world = try World()
        for user in 1...3 { try world.register(token(user), of: Int64(user)) }
        var body: JSONObject = ["users": ["1", "2", "3"], "title": "T", "badge": "+1"]
        for member in more.members { body[member.name] = member.value }
        return (world, try world.sent(body))
    }

    /// - Returns: how many users it did not reach.
    @discardableResult
    private func expectRight(_ world: World, _ id: String, _ comment: Comment) throws -> Int {
        let report = try world.report(id)
        let devices = report["devices"]?.array?.compactMap { $0.object } ?? []
        #expect(devices.count == 3, "\(comment) \(report)")
        let unreached = devices.filter {
            $0["state"] != "accepted" && $0["mayHaveArrived"] != true
        }
        for device in unreached {
            let user = try #require(device["user"]?.string.flatMap { Int64($0) })
            #expect(try world.document(user)["badge"] ?? 0 == 0, "\(comment) \(report)")
        }
        return unreached.count
    }

    @Test("cancelled after a drainer was killed", arguments: 1...24)
    func cancelled(call: Int) throws {
        let (world, id) = try begin()
        try kill(world, call)
        _ = try world.callOff(id)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 900)
        }
        try expectRight(world, id, "killed at call \(call)")
    }

    @Test("expired after two drainers were killed", arguments: 4...11, 3...10)
    func expired(first: Int, second: Int) throws {
        let (world, id) = try begin(["expires_in": 10])
        try kill(world, first)
        try world.advance(seconds: 61)
        try kill(world, second)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 61)
        }
        // Before the first kill nothing was sent.
        let count = try expectRight(world, id, "killed at calls \(first) and \(second)")
        #expect(first > 5 || count == 3)
    }

    @Test("cancelled, of two users of one phone the one for whom it was counted", arguments: 1...24)
    func alternate(call: Int) throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        try world.register(token(2), of: 2)
        try world.change("1") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .hours(10)
        }
        let id = try world.sent(["users": ["1", "2"], "title": "T", "badge": "+1"])
        try kill(world, call)
        _ = try world.callOff(id)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 900)
        }
        let report = try world.report(id)
        let states = report["devices"]?.array?.compactMap { $0.object } ?? []
        let mayHave = states.contains {
            $0["state"] == "accepted" || $0["mayHaveArrived"] == true
        }
        for user in 1...2 where !mayHave {
            #expect(try world.document(Int64(user))["badge"] ?? 0 == 0, "\(call) \(report)")
        }
    }

    @Test("cancelled by a drainer, of two users of one phone the one for whom it was counted")
    func alternateOfADrainer() throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        try world.change("1") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .hours(10)
        }
        let id = try world.sent(["users": ["1", "2"], "title": "T", "badge": "+1"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        #expect(try world.document(2)["badge"] == 1)
        world.variables["DELIVER_LINGER_SECONDS"] = "30"
        let drainer = try world.start("deliver")
        try wait { !hasEnded(world) }
        let answer = try world.callOff(id)
        #expect([200, 202].contains(answer.status), "\(answer.body)")
        try wait { world.spooled().isEmpty }
        drainer.send(SIGTERM)
        _ = try drainer.end()
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
        #expect(try world.document(2)["badge"] ?? 0 == 0)
    }

    @Test(
        "counted for a phone's first user who then wants nothing, and sent for its second",
        arguments: [200, 410])
    func firstUser(status: Int64) throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        let id = try world.sent(["users": ["1", "2"], "title": "T", "badge": "+1"])
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        #expect(try world.document(1)["badge"] == 1)
        try world.change("1") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .hours(10)
        }
        if status != 200 {
            try world.simulator.perform([
                "do": "apns-fault", "status": .integer(status), "reason": "Unregistered",
                "count": 1,
            ])
        }
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        let isAccepted = status == 200
        #expect(try world.report(id)["counts"] == [isAccepted ? "accepted" : "gone": 1])
        #expect(try world.document(1)["badge"] ?? 0 == 0)
        #expect(try world.document(2)["badge"] ?? 0 == (isAccepted ? 1 : 0))
    }

    private func hasEnded(_ world: World) -> Bool {
        let lock = world.state.read("spool/apns/drainer.lock") ?? []
        return String(decoding: lock, as: UTF8.self).contains("\"ended\"")
    }

    private func wait(_ isOver: () -> Bool) throws {
        for _ in 0..<2_000 where !isOver() { usleep(10_000) }
        try #require(isOver())
    }

    private func kill(_ world: World, _ call: Int) throws {
        _ = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(Self.calls)", "-e",
                "inject=\(Self.calls):signal=KILL:when=\(call)", "--",
                "\(Programs.folder)/deliver",
            ], entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
    }
}
