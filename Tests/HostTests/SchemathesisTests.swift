import TestSupport
import Testing

/// What `infra/checks/openapi` finds when it makes requests of `functions/openapi.json`, good ones and bad ones, and sends
/// them to the programs behind nginx.
@Suite struct SchemathesisTests {
    @Test func theProgramsBehindNginxKeepToTheDocument() throws {
        try CheckScript.run("openapi")
    }
}
