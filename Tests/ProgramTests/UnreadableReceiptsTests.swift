import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Reports on messages, and all else that is read from receipts, where these are there and cannot be read.
@Suite struct UnreadableReceiptsTests {
    @Test("what still waits is sent or cancelled, whatever other receipts say")
    func waiting() throws {
        let file = FixtureName.functions.appendingPathComponent("notify/fixtures/200-waiting.json")
        var installation = try Installation()
        let fixture = try Fixture(FixtureName(program: "notify", file: file), in: installation)
        try installation.prepare(fixture)
        let path = "\(installation.state.path)/receipts/2026-11-21.apns.1.jsonl"
        try installation.state.write("", to: "receipts/2026-11-21.apns.1.jsonl")
        try #require(unlink(path) == 0 && symlink(path, path) == 0)
        let ended = try Programs.run(
            "notify", stdin: fixture.request.input, environment: installation.environment)
        let report = try Answer(event: ended.stdout).json?.object
        #expect(report?["state"] == "waiting", "\(ended.stdout)")
    }

    @Test("what unreadable receipts say is damaged, and not gone", arguments: ["GET", "DELETE"])
    func report(method: String) throws {
        let file = FixtureName.functions.appendingPathComponent("notify/fixtures/200-done.json")
        var installation = try Installation()
        let fixture = try Fixture(FixtureName(program: "notify", file: file), in: installation)
        try installation.prepare(fixture)
        let path = "\(installation.state.path)/receipts/2026-11-21.apns.1.jsonl"
        try #require(unlink(path) == 0 && symlink(path, path) == 0)
        let input = fixture.request.input.replacing("\"GET\"", with: "\"\(method)\"")
        let ended = try Programs.run(
            "notify", stdin: input, environment: installation.environment)
        let answer = try Answer(event: ended.stdout)
        let report = answer.json?.object
        if method == "DELETE" {
            // Whether anything is left to cancel is not known.
            #expect(answer.status == 500, "\(ended.stdout)")
        } else {
            #expect(answer.status == 200, "\(ended.stdout)")
            #expect(report?["counts"]?.object?["damaged"] == 3, "\(ended.stdout)")
        }
    }

    /// What may be in the place of a file that was written.
    enum Obstacle: String, CaseIterable, Sendable {
        case loop, folder, brokenLink

        func put(at path: String) throws {
            try #require(unlink(path) == 0)
            switch self {
            case .loop: try #require(symlink(path, path) == 0)
            case .folder: try #require(mkdir(path, 0o700) == 0)
            case .brokenLink: try #require(symlink("/nowhere/at/all", path) == 0)
            }
        }
    }

    /// The answer to a fixture's request, after all receipts (or what else is in a folder) became unreadable and what
    /// was counted of them is gone.
    private func answer(
        of program: String, to name: String, behind obstacle: Obstacle,
        in folder: String = "receipts"
    ) throws -> (members: JSONObject, log: String, input: String, installation: Installation) {
        let file = FixtureName.functions.appendingPathComponent("\(program)/fixtures/\(name).json")
        var installation = try Installation()
        let fixture = try Fixture(FixtureName(program: program, file: file), in: installation)
        try installation.prepare(fixture)
        let files = installation.state.files().keys.filter { $0.hasPrefix("\(folder)/") }
        try #require(!files.isEmpty)
        for name in files where !name.hasSuffix(".lock") {
            try obstacle.put(at: "\(installation.state.path)/\(name)")
        }
        try? FileManager.default.removeItem(atPath: "\(installation.state.path)/statistics")
        let ended = try Programs.run(
            program, stdin: fixture.request.input, environment: installation.environment)
        let members = try #require(Answer(event: ended.stdout).json?.object, "\(ended.stdout)")
        return (members, ended.stderr, fixture.request.input, installation)
    }

    @Test(
        "the overview names them, and does not call its counts complete",
        arguments: Obstacle.allCases)
    func overview(obstacle: Obstacle) throws {
        let (members, log, input, installation) = try answer(
            of: "status", to: "200", behind: obstacle)
        #expect(members["pushes"]?.object?["complete"] == false)
        #expect(members["ready"] == false)
        #expect(
            String(decoding: JSON.text(members["problems"] ?? .null), as: UTF8.self).contains(
                "receipts/2026"))
        #expect(log.contains("receipts/2026"))
        let health = try Programs.run(
            "health", stdin: input.replacing("/api/status", with: "/health"),
            environment: installation.environment)
        #expect(try Answer(event: health.stdout).status == 503)
        #expect(health.stdout.contains("receipts/2026"), "\(health.stdout)")
    }

    @Test("a user's timeline says that events are missing", arguments: Obstacle.allCases)
    func timeline(obstacle: Obstacle) throws {
        let (members, log, _, _) = try answer(of: "status", to: "200-user", behind: obstacle)
        #expect(members["unavailable"]?.array?.contains("events") == true)
        #expect(members["problems"]?.array?.isEmpty == false)
        #expect(log.contains("receipts/2026"))
    }

    @Test("a user's history says that some are missing", arguments: Obstacle.allCases)
    func history(obstacle: Obstacle) throws {
        let (members, log, _, _) = try answer(
            of: "notifications", to: "200-a-page", behind: obstacle)
        #expect(members["incomplete"] == true)
        #expect(log.contains("receipts/2026"))
    }

    @Test(
        "so does the timeline of a player whose last look cannot be read",
        arguments: Obstacle.allCases)
    func look(obstacle: Obstacle) throws {
        let (members, log, _, _) = try answer(
            of: "status", to: "200-user", behind: obstacle, in: "looks")
        #expect(members["unavailable"] == ["look", "turns", "reasons"])
        #expect(members["problems"]?.array?.count == 1)
        #expect(log.contains("looks/"))
    }
}
