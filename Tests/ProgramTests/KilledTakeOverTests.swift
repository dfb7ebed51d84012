import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Programs that are killed while a token goes from one to another.
@Suite struct KilledTakeOverTests {
    private static let indexFile =
        "tokens/94/947a8a9a219f552746bab4328bdacb479265834561fced74e8eb2c094f9eeaa9.json"
    private static let callersFile = "users/eb/1783478.json"
    private static let othersFile = "users/8d/123456.json"
    private static let next = String(repeating: "5a", count: 32)

    private func event(_ path: String, _ body: JSONValue) -> [UInt8] {
        JSON.text([
            "method": "POST", "path": .string(path),
            "headers": ["Authorization": .string("Bearer \(Endpoint.webToken)")], "body": body,
        ])
    }

    /// The token belongs to player 123456, or to the caller, player 1783478.
    private func installation(holder: String, _ file: String) throws -> Installation {
        let installation = try Endpoint.installation()
        let device: JSONValue = [
            "token": .string(Endpoint.token), "registered_at": 1_763_733_700_000,
        ]
        let user: JSONValue = [
            "version": 1, "revision": 1, "devices": [device], "ledger": [], "notices": 0,
        ]
        try installation.state.write(JSON.text(user), to: file)
        let index: JSONValue = ["version": 1, "revision": 1, "users": [.string(holder)]]
        try installation.state.write(JSON.text(index), to: Self.indexFile)
        return installation
    }

    /// Kills the program at moments throughout its life, lets `check` look at the result, and runs it again.
    private func killing(
        _ program: String, _ input: [UInt8], in make: () throws -> Installation,
        check: (Installation, _ isOver: Bool) throws -> Void
    ) throws {
        func run(_ installation: Installation, killedAfter time: Int? = nil) throws -> Bool {
            let entries = installation.environment.map { "\($0.key)=\($0.value)" }
            let running = try Programs.start(program, input: input, entries: entries)
            if let time {
                usleep(UInt32(time))
                running.send(SIGKILL)
            }
            return try running.end().stdout.contains(#""statusCode":200"#)
        }
        let start = Instant.microseconds
        #expect(try run(make()))
        let whole = Int(Instant.microseconds - start)
        for round in 0..<40 {
            let installation = try make()
            let isAnswered = try run(installation, killedAfter: whole * round / 30)
            for (name, bytes) in installation.state.files() where name.hasSuffix(".json") {
                let version = try? JSON.parse(bytes).object?["version"]
                #expect(version == (name == "version.json" ? 3 : 1), "\(name)")
            }
            try check(installation, isAnswered)
            #expect(try run(installation))
            try check(installation, true)
        }
    }

    private func tokens(_ file: String, in installation: Installation) throws -> [String] {
        let user = try installation.state.read(file).flatMap { try JSON.parse($0).object }
        return (user?["devices"]?.array ?? []).compactMap { $0.object?["token"]?.string }
    }

    private func holders(in installation: Installation) throws -> [JSONValue] {
        let index = try installation.state.read(Self.indexFile).flatMap {
            try JSON.parse($0).object
        }
        return index?["users"]?.array ?? []
    }

    @Test("a token that is taken over never belongs to two users, and the index names its user")
    func takeOver() throws {
        let input = event(
            "/api/devices/register",
            ["deviceToken": .string(Endpoint.token), "platform": "ios"])
        try killing("devices-register", input) {
            try installation(holder: "123456", Self.othersFile)
        } check: { installation, isOver in
            let callers = try tokens(Self.callersFile, in: installation)
            let others = try tokens(Self.othersFile, in: installation)
            #expect(callers.count + others.count <= 1)
            let holders = try holders(in: installation)
            if !callers.isEmpty { #expect(holders.contains("1783478")) }
            if !others.isEmpty { #expect(holders.contains("123456")) }
            if isOver { #expect(callers == [Endpoint.token] && others.isEmpty) }
        }
    }

    @Test("a token that takes the place of another leaves the user one of them")
    func rotation() throws {
        let input = event(
            "/api/push/register",
            [
                "token": .string(Self.next), "tokenType": "device",
                "previousToken": .string(Endpoint.token),
            ])
        try killing("push-register", input) {
            try installation(holder: "1783478", Self.callersFile)
        } check: { installation, isOver in
            let tokens = try tokens(Self.callersFile, in: installation)
            #expect(tokens == [Self.next] || (tokens == [Endpoint.token] && !isOver))
        }
    }
}
