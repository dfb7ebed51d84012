import TestSupport
import Testing
import Turnstone

/// What the receipts say of pushes before they are sent.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct AnnouncedPushTests {
    /// FUSE_SUPER_MAGIC, little endian.
    private static let fuse = "46557365"

    @Test(
        "where machines share the folder, another one can read before a push leaves that it will",
        arguments: [true, false])
    func announced(isShared: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let id = try world.sent(["users": ["ann"], "title": "Hello"])
        let test = try Programs.run("storage-test", [world.state.path], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        let kind = "inject=statfs,fstatfs:poke_exit=@arg2=\(Self.fuse)00000000"
        let (traced, ended) = try SystemCalls.of(
            Programs.path("deliver"),
            [
                "statfs", "fstatfs", "pwrite64", "fdatasync", "connect", "write", "writev",
                "sendto", "sendmsg",
            ],
            input: [], environment: world.environment, options: isShared ? ["-e", kind] : [])
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        var receipts: Substring?
        var connections: Set<Substring> = []
        var steps: [String] = []
        for call in traced.calls {
            let file = call.arguments.prefix { $0 != "," && $0 != ")" }
            if call.arguments.contains(#"\"from\":0"#) {
                receipts = file
                steps.append("announced")
            } else if call.name == "connect" {
                connections.insert(file)
            } else if receipts != nil, connections.contains(file) {
                if steps.last != "sent" { steps.append("sent") }
            } else if file == receipts, call.name == "fdatasync" {
                steps.append("durable")
            } else if file == receipts, call.arguments.contains(#"\"outcome\":"#) {
                steps.append("outcome")
            }
        }
        let expected =
            isShared
            ? ["announced", "durable", "sent", "outcome", "durable"]
            : ["announced", "sent", "outcome", "durable"]
        #expect(steps.starts(with: expected), "\(steps)")
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }
}
