import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A web server's own answers have the form of the programs' answers at that path.
@Suite struct RefusalTests {
    private let large = [UInt8](repeating: UInt8(ascii: "x"), count: 70_000)

    private func check(_ answer: HostAnswer, _ status: Int, isAPI: Bool, _ name: Comment) {
        #expect(answer.status == status, "\(name): \(answer.text)")
        let members = answer.json?.object
        #expect(members?["error"]?.string?.isEmpty == false, "\(name): \(answer.text)")
        #expect(members?["success"] == (isAPI ? false : nil), "\(name): \(answer.text)")
        #expect(members?.members.count == (isAPI ? 2 : 1), "\(name): \(answer.text)")
    }

    @Test(arguments: [Host.nginx, .lighttpd, .apache].filter { $0.obstacle == nil })
    func errorsBelowAPIHaveTheirForm(host: Host) throws {
        let site = try Site(host)
        try Installed.player(at: site)
        for (path, isAPI) in [("", false), ("/api", true), ("/api/devices", true)] {
            let nothing = HostRequest(target: "\(path)/nothing/here")
            check(
                try site.answer(nothing, from: "health"), 404, isAPI: isAPI,
                "\(host) \(path)/nothing/here")
        }
        for (path, isAPI) in [("/register", false), ("/api/devices/register", true)] {
            let post = HostRequest(method: "POST", target: path, body: large)
            let name = isAPI ? "devices-register" : "register"
            check(try site.answer(post, from: name), 413, isAPI: isAPI, "\(host) \(path)")
        }
    }

    @Test(.testable(.nginx), arguments: [("/health", false), ("/api/devices", true)])
    func whatNginxCannotPassOnHasTheFormToo(path: String, isAPI: Bool) throws {
        let site = try Site(.nginx, replacing: ["fcgi.sock": "none.sock"])
        let name = isAPI ? "devices-list" : "health"
        let answer = try site.answer(HostRequest(target: path), from: name)
        check(answer, 503, isAPI: isAPI, "\(path)")
        #expect(answer.headers["retry-after"] != nil)
        let trace = try site.answer(HostRequest(method: "TRACE", target: path), from: name)
        check(trace, 405, isAPI: isAPI, "TRACE \(path)")
    }

    @Test(.testable(.nginx)) func tooManyTriesHaveTheFormToo() throws {
        let site = try Site(.nginx, replacing: ["generate-api-key $binary": "~. $binary"])
        try Installed.player(at: site)
        for (path, isAPI) in [("/health", false), ("/api/devices", true)] {
            let name = isAPI ? "devices-list" : "health"
            let answers = try (0..<20).map { _ in
                try site.answer(HostRequest(target: path), from: name)
            }
            let refused = answers.filter { $0.status == 429 }
            #expect(refused.count >= 5)
            for answer in refused { check(answer, 429, isAPI: isAPI, "\(path)") }
        }
    }
}
