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

    private func expectRight(_ world: World, _ id: String, _ comment: Comment) throws {
        let report = try world.report(id)
        for device in report["devices"]?.array?.compactMap({ $0.object }) ?? [] {
            guard device["state"] != "accepted", device["mayHaveArrived"] != true else { continue }
            let user = try #require(device["user"]?.string.flatMap { Int64($0) })
            #expect(try world.document(user)["badge"] ?? 0 == 0, "\(comment) \(report)")
        }
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
        try expectRight(world, id, "killed at calls \(first) and \(second)")
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
