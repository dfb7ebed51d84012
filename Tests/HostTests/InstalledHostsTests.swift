import TestSupport
import Testing

/// The results of `infra/checks/hosts`, which follows the READMEs of nginx, lighttpd, Apache and the inetds.
@Suite struct InstalledHostsTests {
    @Test func theReadmesSayHowToInstallEachHost() async throws {
        let check = try await CheckScript(running: "hosts")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
