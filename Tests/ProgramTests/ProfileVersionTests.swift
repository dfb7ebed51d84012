import TestSupport
import Testing
import Turnstone

/// The entity tag of a profile, and what it is compared with.
@Suite struct ProfileVersionTests {
    private let installation: Installation

    init() throws { installation = try Endpoint.installation() }

    private func ask(
        _ program: String, _ method: String, _ path: String, _ body: String = "{}",
        ifMatch tag: String? = nil, at now: String = Installation.now
    ) throws -> Answer {
        let match = tag.map { #", "If-Match": "\#($0.replacing("\"", with: "\\\""))""# } ?? ""
        let event =
            #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Bearer \#(Endpoint.webToken)"\#(match)}, "body": \#(body)}"#
        var environment = installation.environment
        environment["TURNSTONE_NOW"] = now
        let ended = try Programs.run(program, stdin: event, environment: environment)
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

    @Test("an entity tag does not come back with a user who was erased")
    func erased() throws {
        func change(_ kind: String, at now: String) throws -> (
            profile: String?, preferences: String?
        ) {
            let profile = try ask(
                "profile", "PATCH", "/api/profile", #"{"tags": {"\#(kind)": 1}}"#, at: now)
            let preferences = try ask(
                "preferences", "PUT", "/api/preferences", #"{"kinds": {"\#(kind)": false}}"#,
                at: now)
            return (profile.headers["etag"], preferences.headers["etag"])
        }
        let before = try change("a", at: Installation.now)
        let event =
            #"{"method": "DELETE", "path": "/api/users/1783478", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}}"#
        let ended = try Programs.run("users", stdin: event, environment: installation.environment)
        #expect(try Answer(event: ended.stdout).status == 200)
        let after = try change("b", at: "1795262500000")
        #expect(before.profile != nil && before.profile != after.profile)
        #expect(before.preferences != nil && before.preferences != after.preferences)
        let last = try change("c", at: "1795262500000")
        #expect(last.profile != after.profile && last.preferences != after.preferences)
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
