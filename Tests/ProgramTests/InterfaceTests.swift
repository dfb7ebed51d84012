import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// The document that describes the whole interface, `functions/openapi.json`.
///
/// Not tested here: what a host in front answers by itself (`infra/checks/openapi` does).
@Suite struct InterfaceTests {
    @Test func theDocumentIsWhatItsSourcesMake() throws {
        #expect(try output(of: "infra/make-openapi", ["--check"], input: "") == "")
    }

    @Test("each program answers its fixtures as the document says")
    func answers() throws {
        var lines = ""
        for name in FixtureName.all {
            guard let answer = try answer(to: name) else { continue }
            lines += JSON.line(given(answer, name)) + "\n"
        }
        let said = try output(of: "infra/checks/answers", [], input: lines).split(separator: "\n")
        if let skipped = said.first(where: { $0.hasPrefix("skipped: ") }) {
            try Test.cancel("\(skipped.dropFirst(9))")
        }
        for failure in said where failure.hasPrefix("not ok ") { Issue.record("\(failure)") }
        #expect(said.last == "ok \(lines.split(separator: "\n").count) answers", "\(said)")
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

    /// What a script says, on both of its outputs.
    private func output(
        of script: String, _ arguments: [String], input: String
    ) throws -> String {
        let folder = TemporaryFolder()
        try folder.write(input, to: "input")
        let process = Process()
        let pipe = Pipe()
        process.executableURL = FixtureName.functions.deletingLastPathComponent()
            .appending(path: script)
        process.arguments = arguments
        process.standardInput = FileHandle(forReadingAtPath: "\(folder.path)/input")
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self)
    }
}
