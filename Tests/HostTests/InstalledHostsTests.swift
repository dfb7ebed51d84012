import TestSupport
import Testing

/// What `infra/checks/hosts` finds when it types what the READMEs of nginx, lighttpd, Apache and the inetds say.
@Suite struct InstalledHostsTests {
    @Test func theReadmesSayHowToInstallEachHost() throws {
        let check = try CheckScript(running: "hosts")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
