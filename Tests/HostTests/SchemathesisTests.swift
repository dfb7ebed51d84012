import TestSupport
import Testing

/// What `infra/checks/openapi` finds when it makes requests of `functions/openapi.json`, good ones and bad ones, and sends
/// them to the programs behind nginx.
@Suite struct SchemathesisTests {
    @Test func theProgramsBehindNginxKeepToTheDocument() throws {
        let check = try CheckScript(running: "openapi")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
