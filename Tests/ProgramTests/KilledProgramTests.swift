import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Programs that are killed at any moment: they keep their promises, and the files that they leave do no
/// harm.
@Suite struct KilledProgramTests {
    private func event(_ method: String, _ path: String, body: String = "null") -> String {
        #"{"method": "\#(method)", "path": "\#(path)", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "body": \#(body)}"#
    }

    private func register(_ token: String) -> String {
        event("POST", "/register", body: #"{"user_id": "1783478", "device_token": "\#(token)"}"#)
    }

    @Test(
        "a registration that was answered outlives any kill, and one that was not can be made again"
    )
    func register() throws {
        let installation = try Endpoint.installation(environment: ["DEVICES_PER_USER": "100"])
        let entries = installation.environment.map { "\($0.key)=\($0.value)" }
        let whole = try microseconds("register", register("ff"))
        var promised: Set<String> = []
        for round in 0..<60 {
            let token = "\(1000 + round)"
            let program = try Programs.start(
                "register", input: Array(register(token).utf8), entries: entries)
            usleep(UInt32(whole * round / 40))
            program.send(SIGKILL)
            if try program.end().stdout.contains(#""statusCode":200"#) { promised.insert(token) }
            let known = try devices(in: installation)
            #expect(promised.isSubset(of: known))
        }
        checkDocuments(in: installation)
        for round in 0..<60 {
            let stdin = register("\(1000 + round)")
            let ended = try Programs.run(
                "register", stdin: stdin, environment: installation.environment)
            #expect(ended.stdout.contains(#""statusCode":200"#), "\(ended.stderr)")
        }
        #expect(try devices(in: installation).count == 60)
    }

    @Test("a rotation that is killed leaves at least one working key")
    func rotate() throws {
        let request = event("POST", "/rotate-api-key")
        let whole = try microseconds("rotate-api-key", request)
        for round in 0..<30 {
            let installation = try Endpoint.installation()
            let entries = installation.environment.map { "\($0.key)=\($0.value)" }
            let program = try Programs.start(
                "rotate-api-key", input: Array(request.utf8), entries: entries)
            usleep(UInt32(whole * round / 20))
            program.send(SIGKILL)
            let answer = try program.end().stdout
            let list = try Programs.run(
                "api-keys", stdin: event("GET", "/api-keys"), environment: installation.environment)
            // Either the old key works on, or the answer with the new one was on its way.
            #expect(list.stdout.contains(#""statusCode":200"#) || isRevoked(in: installation))
            if answer.contains(#""statusCode":200"#) { #expect(list.stdout.contains("401")) }
            checkDocuments(in: installation)
        }
    }

    /// How long something takes, so that kills can be spread over all of a program's life.
    private func microseconds(
        _ program: String, _ stdin: String
    ) throws -> Int {
        let elsewhere = try Endpoint.installation()
        let start = Instant.microseconds
        let ended = try Programs.run(program, stdin: stdin, environment: elsewhere.environment)
        #expect(ended.stdout.contains(#""statusCode":200"#))
        return Int(Instant.microseconds - start)
    }

    private func devices(in installation: Installation) throws -> Set<String> {
        let user = try installation.state.read("users/eb/1783478.json").flatMap {
            try JSON.parse($0).object
        }
        return Set((user?["devices"]?.array ?? []).compactMap { $0.object?["token"]?.string })
    }

    private func isRevoked(in installation: Installation) -> Bool {
        installation.state.files().contains { name, bytes in
            name.hasPrefix("keys/") && String(decoding: bytes, as: UTF8.self).contains("revoked_at")
        }
    }

    private func checkDocuments(in installation: Installation) {
        for (name, bytes) in installation.state.files() where name.hasSuffix(".json") {
            let members = try? JSON.parse(bytes).object
            #expect(members?["version"] == (name == "version.json" ? 3 : 1), "\(name)")
        }
        #expect(!installation.state.files().keys.contains { $0.contains(".corrupt-") })
    }
}
