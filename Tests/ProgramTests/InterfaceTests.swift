import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// The document that describes the whole interface, `functions/openapi.json`.
///
/// Not tested here: the own answers of a host in front (`infra/checks/openapi` tests them).
@Suite struct InterfaceTests {
    @Test("it is up to date, and each program answers its fixtures as it says")
    func answers() async throws {
        var lines = ""
        // The pages' files are no part of the interface.
        for name in FixtureName.all where name.program != "page" {
            guard let answer = try answer(to: name) else { continue }
            lines += JSON.line(given(answer, name)) + "\n"
        }
        let check = try await CheckScript(running: "answers", input: lines)
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }

    /// `nil` for a fixture of a scheduled program at work.
    private func answer(to name: FixtureName) throws -> Answer? {
        var installation = try Installation()
        let fixture = try Fixture(name, in: installation)
        guard fixture.answer != nil else { return nil }
        try installation.prepare(fixture)
        let ended = try Programs.run(
            fixture.program, stdin: fixture.request.input, environment: installation.environment)
        return try fixture.request.answer(ended.stdout)
    }

    private func given(_ answer: Answer, _ name: FixtureName) -> JSONValue {
        let file = name.file.deletingPathExtension().lastPathComponent
        var headers = JSONObject()
        for (name, value) in answer.headers { headers[name] = .string(value) }
        return [
            "fixture": .string("\(name.program)/\(file)"), "status": .integer(Int64(answer.status)),
            "headers": .object(headers), "body": .string(answer.body),
        ]
    }
}
