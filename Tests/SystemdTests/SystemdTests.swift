import Foundation
import Testing

/// What `infra/checks/systemd` finds in a booted systemd: units, installation, upgrade and packages.
///
/// Not tested: a machine that starts up, and a kernel without namespaces, where nothing of this can be tried.
@Suite struct SystemdTests {
    @Test func unitsAndInstallationWorkInABootedSystemd() throws {
        let check = Process()
        check.executableURL =
            URL(
                fileURLWithPath: "\(#filePath)/../../../infra/checks/systemd"
            ).standardizedFileURL
        let output = Pipe()
        check.standardInput = FileHandle.nullDevice
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
