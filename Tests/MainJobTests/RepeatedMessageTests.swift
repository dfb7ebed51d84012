import JSON
import TestSupport
import Testing
import Turnstone

/// A request with an idempotency key that fails at any call of the system, and is repeated.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct RepeatedMessageTests {
    @Test(
        "what fails at any call and is repeated arrives, once",
        arguments: ["fsync", "rename", "openat", "newfstatat", "getdents64"], ["EIO", "ENOSPC"])
    func failing(call: String, error: String) throws {
        let event = try message(World())
        var place = 1
        while place < 100 {
            let world = try World()
            try world.give("ann", devices: 1...2)
            world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
            let entries = world.environment.map { "\($0.key)=\($0.value)" }
            let folder = TemporaryFolder()
            let first = try Programs.start(
                at: SystemCalls.tracer,
                [
                    "-qq", "-o", "\(folder.path)/calls", "-e", "trace=\(call)", "-e",
                    "inject=\(call):error=\(error):when=\(place)", "--",
                    "\(Programs.folder)/notify",
                ], input: JSON.text(event), entries: entries
            ).end()
            let log = String(decoding: folder.read("calls") ?? [], as: UTF8.self)
            guard log.contains("INJECTED") else { break }
            let again = try Answer(event: world.start("notify", event).end().stdout)
            #expect(again.status == 202, "\(call) \(place), first \(first.stdout): \(again.body)")
            for _ in 0..<2 {
                try world.run("deliver")
                try world.advance(seconds: 60)
            }
            let count = try world.acceptedIDs().count
            #expect(count == 2, "\(call) \(place): \(count) pushes; first \(first.stdout)")
            // All calls that make something durable are tried, and some of those that only read.
            place += call == "fsync" || call == "rename" ? 1 : 3
        }
        #expect(place > 1)
    }

    private func message(_ world: World) throws -> JSONValue {
        world.message(
            "POST", "/api/notify", ["users": ["ann"], "title": "Hello", "idempotency_key": "k"])
    }
}
