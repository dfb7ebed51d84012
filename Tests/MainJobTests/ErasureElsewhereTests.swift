import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// A user is erased while the queue's drainer runs on another machine that shares the folder.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct ErasureElsewhereTests {
    /// `struct utsname` as far as `nodename`, for a machine of this name. C: `uname(2)`.
    private static func names(ofMachine name: String) -> String {
        let system = Array("Linux".utf8) + [UInt8](repeating: 0, count: 60)
        let all = system + Array(name.utf8) + [0]
        return hex(all)
    }

    @Test("its drainer ends when it is asked to, and what is not the user's is sent afterwards")
    func erased() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.give("ben", devices: 2...2)
        let test = try Programs.run("storage-test", [world.state.path], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        // As if it had been tried with two mounts. The file stays the same one.
        var record = try #require(JSON.parse(world.state.read("storage.json") ?? []).object)
        record["machines"] = "several"
        try world.state.write(JSON.text(.object(record)), to: "storage.json")
        var environment = world.environment
        environment["DELIVER_LINGER_SECONDS"] = "60"
        environment["TURNSTONE_NOW"] = nil
        let fuse = "inject=statfs,fstatfs:poke_exit=@arg2=4655736500000000"
        let elsewhere = "inject=uname:poke_exit=@arg1=\(Self.names(ofMachine: "elsewhere"))"
        let drainer = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "trace=statfs,fstatfs,uname", "-e", fuse, "-e",
                elsewhere, "--", Programs.path("deliver"),
            ], input: [], entries: environment.map { "\($0.key)=\($0.value)" })
        var sign = ""
        for _ in 0..<500 where !sign.contains("beat") {
            sleep(for: .milliseconds(20))
            sign = String(
                decoding: world.state.read("spool/apns/drainer.lock") ?? [], as: UTF8.self)
        }
        try #require(sign.contains(#""host":"elsewhere""#), "\(sign)")
        let erasure = try Answer(
            event: world.startBackend("users", world.message("DELETE", "/api/users/ann")).end()
                .stdout)
        #expect(erasure.status == 200, "\(erasure.body)")
        let ended = try drainer.end()
        #expect(
            ended.stderr.contains("a program on another machine needs the queue"), "\(ended.stderr)"
        )
        #expect(!world.state.files().keys.contains { $0.hasSuffix("drainer.end") })
        let id = try world.sent(["users": ["ben"], "title": "Hello"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
