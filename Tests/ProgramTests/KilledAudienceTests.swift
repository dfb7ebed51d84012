import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A change of a tag that is killed at each of its system calls: the index still finds the user by what the
/// document says.
@Suite struct KilledAudienceTests {
    private let installation: Installation

    init() throws { installation = try Endpoint.installation() }

    private func event(_ method: String, _ path: String, _ body: String) -> String {
        #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "body": \#(body)}"#
    }

    private func count(_ role: String) throws -> Int64? {
        let filter = #"{"field": "tag", "key": "role", "relation": "=", "value": "\#(role)"}"#
        let ended = try Programs.run(
            "notify",
            stdin: event("POST", "/api/notify/count", #"{"filters": [\#(filter)]}"#),
            environment: installation.environment)
        return try Answer(event: ended.stdout).json?.object?["users"]?.integer
    }

    private let file = "users/49/ann.json"

    private func role() throws -> String? {
        try installation.state.read(file).flatMap { try JSON.parse($0).object }?["profile"]?
            .object?["tags"]?.object?["role"]?.string
    }

    /// The calls by which the program reads and writes files.
    private static let calls = [
        "openat", "flock", "fstat", "newfstatat", "read", "pread64", "write", "pwrite64", "fsync",
        "rename", "close", "unlink",
    ]

    @Test("a kill at any system call", .enabled(if: SystemCalls.isPossible))
    func killed() throws {
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[{"token":"a1b2","registered_at":1795262340000}],"profile":{"tags":{"role":"r0"},"revision":1}}"#,
            to: file)
        #expect(try count("r0") == 1)
        var kills = 0
        for call in Self.calls {
            // Until the program makes fewer such calls.
            for number in 1...100 {
                guard try !change(to: "\(call)-\(number)", killedAt: call, number) else { break }
                kills += 1
                let role = try #require(try role())
                #expect(try count(role) == 1, "after \(call) \(number): \(role)")
            }
        }
        #expect(kills > 40, "it was killed \(kills) times")
    }

    /// - Returns: whether it was not killed.
    private func change(to role: String, killedAt call: String, _ number: Int) throws -> Bool {
        let body = #"{"tags": {"role": "\#(role)"}}"#
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e",
                "inject=\(call):signal=SIGKILL:when=\(number)", "--", Programs.path("users"),
            ], input: Array(event("PATCH", "/api/users/ann", body).utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return ended.stdout.contains(#""statusCode":200"#)
    }
}
