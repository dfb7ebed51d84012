import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Every fixture with an event in the short form, behind `front`, over every runner of functions: the same
/// status, body and files as without a runner.
///
/// The runners are stand-ins that speak the real runners' protocols. Their READMEs say which trials were made
/// with the real ones.
@Suite struct FunctionRunnerTests {
    @Test("a runner answers as the fixtures say", arguments: FunctionRunner.allCases)
    func fixtures(runner: FunctionRunner) throws {
        let site = try FunctionSite(runner)
        var refused = 0
        let fixtures = try HostedFixture.all()
        #expect(fixtures.count > 100)
        for fixture in fixtures {
            let name: Comment = "\(runner) \(fixture)"
            try fixture.install(at: site)
            let before = site.state.files()
            guard let answer = try site.answer(fixture.request) else {
                refused += 1
                continue
            }
            #expect(answer.status == fixture.status, "\(name): \(answer.body)")
            let type = answer.status == 204 ? nil : "application/json"
            #expect(answer.headers["content-type"] == type, name)
            if let body = fixture.body(at: site) {
                #expect(
                    answer.json.map { Pattern.matches($0, body) } ?? false,
                    "\(name): \(answer.body)")
            }
            #expect(fixture.faults(of: site.state.files(), before: before) == [], name)
        }
        #expect(site.faults == [])
        #expect(runner == .watchdog ? (1..<15).contains(refused) : refused == 0, "\(refused)")
    }

    @Test("every route is granted by every runner", arguments: FunctionRunner.allCases)
    func routes(runner: FunctionRunner) throws {
        let site = try FunctionSite(runner)
        for route in try Route.all() where !route.asksOnlineGo {
            let fixture = try #require(
                HostedFixture.granted().first(where: route.grants), "\(route)")
            try fixture.install(at: site)
            #expect(try site.answer(fixture.request)?.status == fixture.status, "\(route)")
        }
    }

    @Test(
        "a schedule starts what it is for", arguments: FunctionRunner.allCases,
        ["check-turns", "deliver"])
    func ticks(runner: FunctionRunner, program: String) throws {
        let site = try FunctionSite(runner, program: program)
        try site.configure("OGS_BASE_URL=http://127.0.0.1:1\nDELIVER_LINGER_SECONDS=0")
        let summary = try #require(site.tick().object)
        #expect(summary.members.isEmpty, "\(summary)")
    }
}
