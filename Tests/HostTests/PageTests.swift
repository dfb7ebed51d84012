import TestSupport
import Testing

/// The results of `infra/checks/page`, which looks at the files of the player's page, and of
/// `infra/checks/browser`, which opens it in Chromium and in Firefox; and of `infra/checks/admin`, which
/// opens the operator's.
///
/// Not tested here: other browsers, and Chromium's own push service, which needs the network.
@Suite struct PageTests {
    @Test func theFilesOfThePageKeepToTheirRules() async throws {
        let check = try await CheckScript(running: "page")
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }

    @Test func aPlayerTurnsNotificationsOnInABrowser() async throws {
        let check = try await CheckScript(running: "browser")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }

    @Test func firefoxShowsWhatDeliverPushesToItsOwnSubscription() async throws {
        let check = try await CheckScript(running: "browser", ["--firefox"])
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }

    @Test func theOperatorSeesEachIncidentInWords() async throws {
        let check = try await CheckScript(running: "admin")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
