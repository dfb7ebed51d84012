import TestSupport
import Testing
import Turnstone

/// The entity tag of a profile, and what it is compared with.
@Suite struct ProfileVersionTests {
    private let installation: Installation

    init() throws { installation = try Endpoint.installation() }

    private func ask(
        _ program: String, _ method: String, _ path: String, _ body: String = "{}",
        ifMatch tag: String? = nil
    ) throws -> Answer {
        let match = tag.map { #", "If-Match": "\#($0.replacing("\"", with: "\\\""))""# } ?? ""
        let event =
            #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Bearer \#(Endpoint.webToken)"\#(match)}, "body": \#(body)}"#
        let ended = try Programs.run(program, stdin: event, environment: installation.environment)
        return try Answer(event: ended.stdout)
    }

    private func tag() throws -> String {
        let answer = try ask("profile", "GET", "/api/profile")
        return try #require(answer.headers["etag"])
    }

    private func register(_ members: String) throws {
        let body = #"{"deviceToken": "\#(Endpoint.token)", "platform": "ios"\#(members)}"#
        #expect(try ask("devices-register", "POST", "/api/devices/register", body).status == 200)
    }

    @Test(
        "a registration that changes what the profile shows changes its tag",
        arguments: [#""appVersion": "2""#, #""model": "iPhone15,2""#, #""os": "iOS 19""#])
    func registration(member: String) throws {
        try register("")
        let before = try tag()
        try register(", \(member)")
        #expect(try tag() != before)
        let body = #"{"language": "de"}"#
        #expect(try ask("profile", "PATCH", "/api/profile", body, ifMatch: before).status == 412)
        let present = try tag()
        #expect(try ask("profile", "PATCH", "/api/profile", body, ifMatch: present).status == 200)
    }

    @Test("a device that comes or goes changes the tag, and a repeated registration does not")
    func comingAndGoing() throws {
        let without = try tag()
        try register("")
        let with = try tag()
        try register("")
        #expect(try tag() == with && with != without)
        _ = try ask("devices-unregister", "DELETE", "/api/devices/\(Endpoint.token)")
        #expect(try tag() != with)
    }
}
