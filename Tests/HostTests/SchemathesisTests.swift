import Foundation
import TestSupport
import Testing

/// What `infra/checks/openapi` finds when it makes requests of `functions/openapi.json`, good ones and bad ones, and sends
/// them to the programs behind nginx.
@Suite struct SchemathesisTests {
    @Test func whatIsAnsweredIsDocumented() throws {
        let check = Process()
        check.executableURL = URL(fileURLWithPath: "\(Route.repository)/infra/checks/openapi")
        var environment = ProcessInfo.processInfo.environment
        environment["TURNSTONE_BIN"] = Programs.folder
        check.environment = environment
        let output = Pipe()
        check.standardInput = FileHandle.nullDevice
        check.standardOutput = output
        try check.run()
        let said = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()

        if let skipped = said.split(separator: "\n").first(where: { $0.hasPrefix("skipped: ") }) {
            try Test.cancel("\(skipped.dropFirst(9))")
        }
        #expect(check.terminationStatus == 0)
        #expect(said.contains("ok openapi-spec-validator\n"), "\(said)")
        #expect(said.contains("ok schemathesis: "), "\(said)")
        #expect(!said.contains("not ok "))
    }
}
