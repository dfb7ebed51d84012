import Foundation
import TestSupport
import Testing
import Turnstone

/// Every fixture that asks in the short form, good and bad, through every host: the same status, body
/// and files as the programs show by themselves.
///
/// Not tested here: logs, which hosts treat each in their way, and the sentence of a refusal, which may
/// be the host's own.
@Suite struct FixturesThroughHostsTests {
    @Test("a host answers as the fixtures say", arguments: Host.testable)
    func fixtures(host: Host) throws {
        // So many keys in so short a time are for tests only.
        let site = try Site(host, replacing: host == .nginx ? ["rate=10r/m": "rate=10000r/s"] : [:])
        let routes = try Route.all()
        let fixtures = try HostedFixture.all()
        #expect(fixtures.count > 100)
        for fixture in fixtures {
            try fixture.install(at: site)
            let before = site.documents
            let answer = try site.answer(fixture.request, from: fixture.program)
            // Programs answer under any prefix, a server only under the configured one.
            if host.isServer, !routes.contains(where: { $0.serves(fixture.request.target) }) {
                #expect(answer.status == 404, "\(fixture)")
                #expect(site.documents == before, "\(fixture)")
            } else {
                fixture.check(answer, at: site, before: before, "\(host) \(fixture)")
            }
        }
    }
}
