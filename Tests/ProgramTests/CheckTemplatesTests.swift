import Foundation
import TestSupport
import Testing

/// The command that finds out whether a folder's templates can be used.
@Suite struct CheckTemplatesTests {
    @Test(
        "it names what is wrong, and ends with 1",
        arguments: [
            (nil, 0, "10 templates are as they should be\n"),
            (#"{"message": {"title": "Soup"}}"#, 0, "11 templates are as they should be\n"),
            (
                #"{"message": {"title": "{dish}"}}"#, 1,
                "the template lunch has an unknown placeholder {dish}\n"
            ),
        ] as [(String?, Int32, String)])
    func check(template: String?, exitCode: Int32, output: String) throws {
        let folder = TemporaryFolder()
        if let template { try folder.write(template, to: "lunch.json") }
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../infra/check-templates")
        process.arguments = template == nil ? [] : [folder.path]
        let programs = URL(filePath: Programs.path("events")).deletingLastPathComponent().path
        process.environment = ["TURNSTONE_BIN": programs, "PATH": "/usr/bin:/bin"]
        process.standardOutput = pipe
        try process.run()
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == exitCode)
        #expect(String(decoding: bytes, as: UTF8.self) == output)
    }
}
