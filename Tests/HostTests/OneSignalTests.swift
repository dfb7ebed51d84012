import TestSupport
import Testing

/// The results of `infra/checks/onesignal`, which lets OneSignal's own clients drive the programs.
@Suite struct OneSignalTests {
    @Test func oneSignalsClientsReachTheRightDevices() async throws {
        let check = try await CheckScript(running: "onesignal")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
