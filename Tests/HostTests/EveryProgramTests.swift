import Foundation
import TestSupport
import Testing

/// Every route of `infra/routes`, with a fixture that it grants, over every host, in every way that a request
/// may take: the same status, body and files everywhere, except for the differences in ``HostDifferences``.
@Suite struct EveryProgramTests {
    @Test("a request is answered alike, whatever happens to it", arguments: Host.testable)
    func variants(host: Host) throws {
        let site = try Site(host, replacing: host == .nginx ? ["rate=10r/m": "rate=10000r/s"] : [:])
        for fixture in try HostedFixture.granted() {
            for variant in Variant.all {
                guard let pieces = variant.pieces(fixture.request) else { continue }
                try check(variant, pieces, of: fixture, at: site)
            }
        }
    }

    private func check(
        _ variant: Variant, _ pieces: [[UInt8]], of fixture: HostedFixture, at site: Site
    ) throws {
        let name: Comment = "\(site.host.rawValue) \(fixture) \(variant.name)"
        try fixture.install(at: site)
        let before = site.documents
        let connection = try site.connect(to: fixture.program)
        for (place, piece) in pieces.enumerated() {
            if place > 0 { usleep(5_000) }
            connection.send(piece)
        }
        let answer = try HostAnswer(connection.receive())
        switch variant.outcome {
        case .same: return fixture.check(answer, at: site, before: before, name)
        case .status(let status):
            let usual = HostDifferences.status(of: variant.name, at: site.host, elsewhere: status)
            // OneSignal's clients know 403 only.
            let status = usual == 401 && fixture.program.hasPrefix("onesignal-") ? 403 : usual
            #expect(answer.status == status, name)
        case .refused: #expect((400..<500).contains(answer.status), name)
        }
        #expect(answer.json != nil, name)
        #expect(site.documents == before, name)
    }

    @Test("a request that breaks off changes nothing", arguments: Host.testable)
    func halves(host: Host) throws {
        let site = try Site(host)
        for fixture in try HostedFixture.granted() {
            try fixture.install(at: site)
            let before = site.documents
            let connection = try site.connect(to: fixture.program)
            connection.send(fixture.request.bytes.dropLast(fixture.request.bytes.count / 2))
            connection.endSending()
            // Until the host has closed it, whatever it says.
            _ = try connection.receive()
            #expect(site.documents == before, "\(host) \(fixture)")
        }
    }

    /// Servers let go of it, programs answer with 408: after ten seconds, or somewhat more.
    @Test func aClientThatSaysNoMoreIsLetGo() throws {
        let sites = try Host.testable.map { try Site($0) }
        let connections = try sites.map { site in
            try Installed.player(at: site)
            let connection = try site.connect(to: "register")
            connection.send(Installed.registration(Installed.token).bytes.dropLast(9))
            return connection
        }
        for (site, connection) in zip(sites, connections) {
            let before = site.documents
            let received = try connection.receive()
            if !site.host.isServer {
                #expect(try HostAnswer(received).status == 408, "\(site.host)")
            }
            #expect(site.documents == before, "\(site.host)")
        }
    }

    @Test("a request counts even when the client is gone", arguments: Host.testable)
    func goneClients(host: Host) throws {
        let site = try Site(host, replacing: host == .nginx ? ["rate=10r/m": "rate=10000r/s"] : [:])
        for fixture in try HostedFixture.granted() where fixture.changesFiles {
            try fixture.install(at: site)
            let before = site.documents
            do { try site.connect(to: fixture.program).send(fixture.request.bytes) }
            var faults = ["nothing yet"]
            for _ in 0..<1_000 where !faults.isEmpty {
                usleep(10_000)
                faults = fixture.faults(of: site.state.files(), before: before)
            }
            #expect(faults.isEmpty, "\(host) \(fixture)")
        }
    }

    @Test func everyRouteHasAFixtureThatItGrants() throws {
        let fixtures = try HostedFixture.granted()
        for route in try Route.all() where !route.asksOnlineGo {
            #expect(fixtures.contains { route.grants($0) }, "\(route)")
        }
    }
}
