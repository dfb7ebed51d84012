import Foundation
import Testing

/// What `infra/checks/hosts` finds when it types what the READMEs of nginx, lighttpd, Apache and the inetds say.
@Suite struct InstalledHostsTests {
    @Test func theReadmesSayHowToInstallEachHost() throws {
        let check = Process()
        check.executableURL = URL(fileURLWithPath: "\(Route.repository)/infra/checks/hosts")
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
