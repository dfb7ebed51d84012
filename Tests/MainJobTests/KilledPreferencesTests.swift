import JSON
import TestSupport
import Testing
import Turnstone

/// A change of preferences applies to held messages, whichever program is killed.
@Suite struct KilledPreferencesTests {
    @Test(
        "once a mute is lifted, held messages are sent, wherever the program that lifted it was killed",
        .enabled(if: SystemCalls.isPossible), arguments: 1...8)
    func lifted(call: Int) throws {
        let world = try World()
        try world.register(token(1), of: 1)
        func put(_ until: JSONValue) throws -> JSONValue {
            try world.event("PUT", "/api/preferences", by: 1, ["mutedUntil": until])
        }
        let muted = try world.start("preferences", put("2030-01-01T00:00:00Z")).end()
        #expect(try Answer(event: muted.stdout).status == 200)
        let id = try world.sent(["users": ["1"], "title": "Held"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 1])

        let lift = try put(.null)
        _ = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "trace=rename,renameat,fsync,fdatasync", "-e",
                "inject=rename,renameat,fsync,fdatasync:signal=KILL:when=\(call)", "--",
                "\(Programs.folder)/preferences",
            ], input: JSON.text(lift), entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        try world.run("deliver")
        let known = try world.ask("preferences", "GET", "/api/preferences", by: 1).json
        let isMuted = known?.object?["preferences"]?.object?["mutedUntil"]?.string != nil
        let counts = try world.report(id)["counts"]
        #expect(counts == (isMuted ? ["held": 1] : ["accepted": 1]), "killed at call \(call)")
        let again = try world.start("preferences", lift).end()
        #expect(try Answer(event: again.stdout).status == 200)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
