import Foundation
import TestSupport
import Testing

/// `infra/fuzz/structures` for a few seconds, with the same seed each time.
@Suite struct StructureTests {
    @Test("no change of a request or a stored document crashes a program or forges its log")
    func structures() throws {
        let script = URL(fileURLWithPath: "\(#filePath)/../../../infra/fuzz/structures")
        let ended = try Programs.start(
            at: script.standardizedFileURL.path, ["--runs", "400", "--seed", "1"],
            entries: ["PATH=/usr/bin:/bin", "TURNSTONE_BIN=\(Programs.folder)"]
        ).end()
        #expect(ended.exitCode == 0, "\(ended.stdout) \(ended.stderr)")
        #expect(ended.stdout.contains("400 runs from seed 1: 0 problems"))
    }
}
