import TestSupport
import Testing

/// The results of `infra/checks/page`, which looks at the files of the player's page.
///
/// Not tested here: what a browser does with them (`infra/checks/browser`).
@Suite struct PageTests {
    @Test func theFilesOfThePageKeepToTheirRules() throws {
        let check = try CheckScript(running: "page")
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
