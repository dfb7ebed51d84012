import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Reports on messages whose receipts are there and cannot be read.
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
}
