import TestSupport
import Testing

/// The results of `infra/checks/openapi`, which makes good and bad requests from `functions/openapi.json` and
/// sends them to the programs behind nginx.
@Suite struct SchemathesisTests {
    @Test func theProgramsBehindNginxKeepToTheDocument() async throws {
        let check = try await CheckScript(running: "openapi")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
