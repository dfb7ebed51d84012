import Foundation
import Testing

/// A script under `infra/checks` that says what it tried: a line `ok …` or `not ok …` for each claim, `skipped: …` where
/// nothing can be tried, and at the end `ok everything was tried`.
package enum CheckScript {
    /// Runs a script to its end, with an issue for each claim that does not hold; cancels the test where it skips.
    ///
    /// - Parameter input: what the script reads.
    package static func run(_ name: String, input: String = "") throws {
        let folder = TemporaryFolder()
        try folder.write(input, to: "input")
        let check = Process()
        check.executableURL =
            URL(fileURLWithPath: "\(#filePath)/../../../infra/checks/\(name)").standardizedFileURL
        let output = Pipe()
        check.standardInput = FileHandle(forReadingAtPath: "\(folder.path)/input")
        check.standardOutput = output
        try check.run()
        let said = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()

        let lines = said.split(separator: "\n")
        if let skipped = lines.first(where: { $0.hasPrefix("skipped: ") }) {
            try Test.cancel("\(skipped.dropFirst(9))")
        }
        for failure in lines where failure.hasPrefix("not ok ") { Issue.record("\(failure)") }
        #expect(lines.contains("ok everything was tried"), "\(said)")
    }
}
