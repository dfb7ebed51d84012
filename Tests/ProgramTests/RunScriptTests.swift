import Foundation
import TestSupport
import Testing

/// `infra/run --player ID`, with stand-ins for the programs that it starts.
@Suite struct RunScriptTests {
    private let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// - Parameters:
    ///   - summary: what check-turns prints.
    ///   - log: what it logs.
    ///   - push: what deliver prints.
    private func run(
        summary: String, log: String, push: String = ""
    ) throws -> (exitCode: Int32, output: String, errors: String) {
        let folder = TemporaryFolder()
        let script = try Data(contentsOf: repository.appending(path: "infra/run"))
        try folder.writeProgram(String(decoding: script, as: UTF8.self), to: "infra/run")
        let programs = [
            "infra/build": "",
            ".build/ordinary/release/generate-api-key": #"echo '{"body":"{\"api_key\":\"k\"}"}'"#,
            ".build/ordinary/release/register": "cat",
            ".build/ordinary/release/check-turns": "echo '\(summary)'; echo '\(log)' >&2",
            ".build/ordinary/release/deliver": "echo '\(push)'",
        ]
        for (name, text) in programs {
            try folder.writeProgram("#!/bin/bash\n\(text)\n", to: name)
        }
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "\(folder.path)/infra/run")
        process.arguments = ["--player", "1783478"]
        process.environment = ["PATH": "/usr/bin:/bin", "TMPDIR": folder.path]
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let fault = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text, fault)
    }

    @Test(
        "a look that failed is no answer about the player's games",
        arguments: [
            (
                #"{"due":1,"failed":1}"#,
                #"check-turns: unable to look at a player player="1783478" reason="Online-Go.com is down""#,
                "Online-Go.com is down"
            ),
            (
                #"{"due":1,"put_off":1}"#,
                #"check-turns: Online-Go.com answered 429 or 503; pausing until="2026-11-21T12:00:00Z""#,
                "Online-Go.com answered 429 or 503; pausing"
            ),
            ("", "", "check-turns gave no reason"),
        ])
    func failed(summary: String, log: String, reason: String) throws {
        let (exitCode, output, errors) = try run(summary: summary, log: log)
        #expect(exitCode == 1)
        #expect(errors.contains("nothing is known about player 1783478"), "\(errors)")
        #expect(errors.contains(reason), "\(errors)")
        #expect(!output.contains("would be pushed"), "\(output)")
    }

    @Test("a look that succeeded says what would be pushed, or that nothing would")
    func succeeded() throws {
        let nothing = try run(summary: #"{"due":1,"looked":1}"#, log: "")
        #expect(nothing.exitCode == 0, "\(nothing)")
        #expect(nothing.output.contains("nothing would be pushed"))
        let push = try run(
            summary: #"{"due":1,"looked":1,"notices":1}"#, log: "", push: #"{"payload":{}}"#)
        #expect(push.exitCode == 0)
        #expect(push.output.contains("This would be pushed:\n{\"payload\":{}}\n"))
    }
}
