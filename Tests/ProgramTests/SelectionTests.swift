import Documents
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A message to those whom a filter means: it is checked when it is accepted and when it is sent.
@Suite struct SelectionTests {
    private let installation: Installation

    init() throws {
        installation = try Endpoint.installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
    }

    private func ask(_ program: String, _ event: String) throws -> JSONValue {
        let event = event.replacing(
            "{K}", with: #""headers": {"Authorization": "Key \#(Endpoint.serverKey)"}"#)
        let ended = try Programs.run(
            program, stdin: event, environment: installation.environment)
        return try #require(Answer(event: ended.stdout).json)
    }

    private func register(_ user: String, token: String, role: String) throws {
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[{"token":"\#(token)","registered_at":1795262340000}]}"#,
            to: "users/\(shard(of: user))/\(user).json")
        try setRole(of: user, to: role)
    }

    private func shard(of user: String) -> String {
        ["ann": "49", "bob": "81"][user]!
    }

    private func setRole(of user: String, to role: String) throws {
        let answer = try ask(
            "users",
            #"{"method": "PATCH", "path": "/api/users/\#(user)", {K}, "body": {"tags": {"role": "\#(role)"}}}"#
        )
        #expect(answer.object?["success"] == true)
    }

    private func deliver() throws {
        _ = try Programs.run("deliver", stdin: "", environment: installation.environment)
    }

    private var pushes: Int {
        installation.state.files().keys.count { $0.hasPrefix("outgoing/") && $0.hasSuffix(".json") }
    }

    private let admins =
        #"{"filters": [{"field": "tag", "key": "role", "relation": "=", "value": "admin"}], "title": "Hi""#

    private func send(_ body: String) throws -> (id: String, devices: Int64?) {
        let answer = try ask(
            "notify", #"{"method": "POST", "path": "/api/notify", {K}, "body": \#(body)}}"#)
        let id = try #require(answer.object?["id"]?.string, "\(answer)")
        return (id, answer.object?["devices"]?.integer)
    }

    private func report(_ id: String) throws -> [String] {
        let answer = try ask("notify", #"{"method": "GET", "path": "/api/notify/\#(id)", {K}}"#)
        return try #require(answer.object?["devices"]?.array).map { device in
            let members = device.object
            return [members?["user"], members?["state"], members?["reason"]]
                .compactMap { $0?.string }.joined(separator: " ")
        }.sorted()
    }

    @Test("a user who ceases to match before the message is sent gets nothing")
    func changedBeforeSending() throws {
        try register("ann", token: String(repeating: "a1", count: 32), role: "admin")
        try register("bob", token: String(repeating: "b2", count: 32), role: "admin")
        let (id, devices) = try send(admins)
        #expect(devices == 2)
        try setRole(of: "bob", to: "guest")
        try deliver()
        #expect(try report(id) == ["ann accepted", "bob superseded unselected"])
        #expect(pushes == 1)
    }

    @Test("of two ids that look alike, one that could not be read does not hide the other")
    func alike() throws {
        let (composed, decomposed) = (UserID("jos\u{e9}")!, UserID("jose\u{301}")!)
        func path(_ user: UserID) -> String {
            "users/\(user.documentName.shard ?? "")/\(user.documentName.file).json"
        }
        for (user, digits) in [(composed, "a1"), (decomposed, "b2")] {
            try installation.state.write(
                #"{"version":1,"revision":1,"devices":[{"token":"\#(String(repeating: digits, count: 32))","#
                    + #""registered_at":1795262340000}],"profile":{"tags":{"role":"admin"},"revision":1}}"#,
                to: path(user))
        }
        // While the index is made, one of the documents is unreadable.
        let document = "\(installation.state.path)/\(path(composed))"
        try FileManager.default.moveItem(atPath: document, toPath: "\(document).away")
        try FileManager.default.createDirectory(
            atPath: document, withIntermediateDirectories: false)
        #expect(try send(admins).devices == 1)
        try FileManager.default.removeItem(atPath: document)
        try FileManager.default.moveItem(atPath: "\(document).away", toPath: document)
        #expect(try send(admins).devices == 2)
    }

    @Test("a held message goes to nobody who ceases to match while it waits")
    func changedWhileHeld() throws {
        try register("ann", token: String(repeating: "a1", count: 32), role: "admin")
        let file = "users/49/ann.json"
        let text = String(decoding: try #require(installation.state.read(file)), as: UTF8.self)
        let muted = text.replacing(
            #""devices""#,
            with: #""preferences":{"kinds":{},"muted_until":4102444800000,"revision":1},"devices""#)
        try installation.state.write(muted, to: file)
        let (id, _) = try send(admins)
        try deliver()
        #expect(try report(id) == ["ann held"])
        try setRole(of: "ann", to: "guest")
        _ = try ask(
            "preferences",
            #"{"method": "PUT", "path": "/api/preferences", "headers": {"Authorization": "Bearer \#(annsToken)"}, "body": {}}"#
        )
        try deliver()
        #expect(try report(id) == ["ann superseded unselected"])
        #expect(pushes == 0)
    }

    /// {"sub": "ann", "exp": 4102444800}, with HS256 and the secret of ``Endpoint/jwtSecret``.
    private let annsToken =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJleHAiOjQxMDI0NDQ4MDB9.TKKPq6dchozFj7M_DjF3dcPpd3YfH11qTrlHe_YECPk"
}
