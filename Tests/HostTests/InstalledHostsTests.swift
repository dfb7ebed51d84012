import TestSupport
import Testing

/// What `infra/checks/hosts` finds when it types what the READMEs of nginx, lighttpd, Apache and the inetds say.
@Suite struct InstalledHostsTests {
    @Test func theReadmesSayHowToInstallEachHost() throws {
        try CheckScript.run("hosts")
    }
}
