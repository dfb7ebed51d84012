import TestSupport
import Testing

/// The results of `infra/checks/onesignal`, which lets OneSignal's own clients drive the programs.
@Suite struct OneSignalTests {
    @Test func oneSignalsClientsReachTheRightDevices() throws {
        let check = try CheckScript(running: "onesignal")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
