import TestSupport
import Testing

/// The results of `infra/checks/systemd` in a booted systemd: units, installation, upgrade and packages.
///
/// Not tested: a machine that starts up, and a kernel without namespaces, where nothing of this can be tried.
@Suite struct SystemdTests {
    @Test func unitsAndInstallationWorkInABootedSystemd() async throws {
        let check = try await CheckScript(running: "systemd")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
