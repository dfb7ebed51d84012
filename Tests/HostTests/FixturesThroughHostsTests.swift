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
    @Test(.installed(.nginx)) func nginxAnswersAsTheFixturesSay() throws { try check(.nginx) }
    @Test(.installed(.lighttpd)) func lighttpdAnswersAsTheFixturesSay() throws {
        try check(.lighttpd)
    }
    @Test(.installed(.inetd)) func inetdAnswersAsTheFixturesSay() throws { try check(.inetd) }
    @Test(.installed(.socat)) func socatAnswersAsTheFixturesSay() throws { try check(.socat) }

    private func check(_ host: Host) throws {
        // So many keys in so short a time are for tests only.
        let site = try Site(host, replacing: ["rate=10r/m": "rate=10000r/s"])
        let routes = try Route.all()
        let fixtures = try HostedFixture.all()
        #expect(fixtures.count > 100)
        for fixture in fixtures {
            try fixture.install(at: site)
            let before = site.state.files()
            let answer = try site.answer(fixture.request, from: fixture.program)
            // Programs answer under any prefix, a server only where it has been told to.
            if host.isServer, !routes.contains(where: { $0.serves(fixture.request.target) }) {
                #expect(answer.status == 404, "\(fixture)")
                #expect(site.state.files() == before, "\(fixture)")
                continue
            }
            #expect(answer.status == fixture.status, "\(fixture): \(answer.text)")
            // lighttpd refuses in HTML what it refuses by itself.
            if host != .lighttpd || answer.status < 400 || answer.json != nil {
                check(answer, fixture)
            }
            let faults = fixture.faults(of: site.state.files(), before: before)
            #expect(faults.isEmpty, "\(fixture)")
        }
    }

    private func check(_ answer: HostAnswer, _ fixture: HostedFixture) {
        #expect(answer.headers["content-type"] == "application/json", "\(fixture)")
        #expect(answer.headers["cache-control"] == "no-store", "\(fixture)")
        #expect(answer.headers["x-content-type-options"] == "nosniff", "\(fixture)")
        if fixture.request.method == "HEAD" {
            #expect(answer.body.isEmpty, "\(fixture)")
        } else if fixture.status < 400, let body = fixture.body {
            #expect(
                answer.json.map { Pattern.matches($0, body) } == true, "\(fixture): \(answer.text)")
        } else {
            #expect(answer.json?.object?.members.isEmpty == false, "\(fixture): \(answer.text)")
        }
    }
}
