import Documents
import Foundation
import JSON
import Store
import TestSupport
import Testing
import Turnstone
import Unix

/// Messages to several users of whom one cannot be reached: the others still get them. And logs that contain
/// a stranger's text.
@Suite struct MissedUsersTests {
    private let key = "the-key-of-a-backend-with-32-bytes"
    private let installation: Installation

    init() throws {
        installation = try Installation(environment: [
            "TURNSTONE_SERVER_KEY": key, "TURNSTONE_DELIVER": "external",
        ])
        try installation.state.write(#"{"version":3}"#, to: "version.json")
    }

    private var store: State {
        get throws {
            var variables = Variables()
            variables.offer("TURNSTONE_STATE", installation.state.path)
            return try State(variables)
        }
    }

    private func register(_ users: [String]) throws {
        for (number, name) in users.enumerated() {
            var registration = Registration(
                try #require(DeviceToken(String(repeating: "0", count: 63) + "\(number)")))
            registration.name = name
            _ = try store.registry.claim(
                registration, for: #require(UserID(name)), at: Timestamp(milliseconds: 1))
        }
    }

    private func path(of user: String) throws -> String {
        let name = try #require(
            installation.state.files().keys.first { $0.hasSuffix("/\(user).json") })
        return "\(installation.state.path)/\(name)"
    }

    private func send(_ body: JSONObject) throws -> (answer: Answer, log: String) {
        let event: JSONValue = [
            "method": "POST", "path": "/api/notify",
            "headers": ["Authorization": .string("Key \(key)")], "body": .object(body),
        ]
        let ended = try Programs.run(
            "notify", stdin: JSON.line(event), environment: installation.environment)
        return (try Answer(event: ended.stdout), ended.stderr)
    }

    @Test("a token whose record is damaged does not keep the message from the others")
    func damagedToken() throws {
        try register(["ann", "bob"])
        let tokens = (0...1).map { String(repeating: "0", count: 63) + "\($0)" }
        let records = installation.state.files().filter { $0.key.hasPrefix("tokens/") }
        let record = try #require(
            records.first { String(decoding: $0.value, as: UTF8.self).contains("ann") }?.key)
        try installation.state.write("{\"version\":1,", to: record)
        for _ in 0..<2 {
            let (answer, log) = try send([
                "devices": .array(tokens.map { .string($0) }), "title": "Hello",
            ])
            #expect(answer.status == 202, "\(answer.body) \(log)")
            #expect(answer.json?.object?["devices"] == 1)
            #expect(answer.json?.object?["skipped"] == 1)
        }
    }

    private func badge(of user: String) throws -> Int64? {
        try store.users[#require(UserID(user))].read()?.badge
    }

    @Test("users with damaged or busy documents or long ids do not keep a message from others")
    func broadcast() throws {
        let long = String(repeating: "\u{56f2}", count: 42)
        try register(["ann", "bob", "cy", long])
        try Data("{".utf8).write(to: URL(fileURLWithPath: path(of: "bob")))
        let lock = try FileDescriptor.open(SharedLock.path(of: path(of: "cy")), .update)
        #expect(try lock.tryLock())
        defer { lock.unlock() }
        let (answer, _) = try send([
            "users": ["ann", "bob", "cy", .string(long)], "title": "Hello", "badge": "+1",
        ])
        #expect(answer.status == 202, "\(answer.body)")
        let members = answer.json?.object
        // Documents are changed only when the message is sent, so nobody waits for a lock.
        #expect(members?["devices"] == 3)
        #expect(members?["failed"] == ["bob"])
        #expect(members?["later"] == nil)
        #expect(try badge(of: "ann") == 0)
        let spooled = installation.state.files().keys.filter { $0.hasPrefix("spool/apns/ready/") }
        #expect(spooled.count == 1)
    }

    @Test("a document that was set aside before the index was made is missed by a broadcast")
    func setAsideBefore() throws {
        try register(["ann", "bob"])
        try Data("{".utf8).write(to: URL(fileURLWithPath: path(of: "bob")))
        #expect(try send(["users": ["bob"], "title": "Hello"]).answer.status == 500)
        for _ in 0..<2 {
            let (answer, _) = try send(["everyone": true, "title": "Hello"])
            #expect(answer.status == 202 && answer.json?.object?["devices"] == 1)
            #expect(answer.json?.object?["failed"] == ["bob"], "\(answer.body)")
            try installation.state.remove("audience")
        }
    }

    @Test("a device whose user's document is damaged does not keep a message from other devices")
    func devices() throws {
        try register(["ann", "bob"])
        try Data("{".utf8).write(to: URL(fileURLWithPath: path(of: "bob")))
        let tokens = [0, 1, 2].map { JSONValue.string(String(repeating: "0", count: 63) + "\($0)") }
        let (answer, _) = try send(["devices": .array(tokens), "title": "Hello"])
        #expect(answer.status == 202, "\(answer.body)")
        #expect(answer.json?.object?["devices"] == 2)
        #expect(answer.json?.object?["failed"] == ["bob"])
    }

    @Test("a listener whose document cannot be used does not keep an update from other listeners")
    func listeners() throws {
        for (number, name) in ["ann", "bob"].enumerated() {
            var registration = Registration(
                try #require(DeviceToken(String(repeating: "a", count: 63) + "\(number)")))
            registration.kind = .liveActivity(activity: nil, session: "s")
            _ = try store.registry.claim(
                registration, for: #require(UserID(name)),
                at: Timestamp(milliseconds: 1_795_262_400_000))
        }
        try Data(#"{"version":9,"revision":1}"#.utf8).write(
            to: URL(fileURLWithPath: path(of: "bob")))
        let event: JSONValue = [
            "method": "POST", "path": "/api/push/live-activity",
            "headers": ["Authorization": .string("Key \(key)")],
            "body": ["sessionId": "s", "contentState": [:]],
        ]
        let ended = try Programs.run(
            "live-activity", stdin: JSON.line(event), environment: installation.environment)
        #expect(try Answer(event: ended.stdout).status == 202, "\(ended.stdout) \(ended.stderr)")
        let spooled = installation.state.files().keys.filter { $0.hasPrefix("spool/apns/ready/") }
        #expect(spooled.count == 1)
        let notes = String(
            decoding: installation.state.read("set-aside.jsonl") ?? [], as: UTF8.self)
        #expect(notes.contains("/bob.json"))
    }

    @Test("a message that could be accepted for nobody is refused, and may be repeated")
    func nobody() throws {
        try register(["bob"])
        try Data("{".utf8).write(to: URL(fileURLWithPath: path(of: "bob")))
        let body: JSONObject = [
            "users": ["bob"], "title": "Hello", "idempotency_key": "once",
        ]
        for _ in 0..<2 { #expect(try send(body).answer.status == 500) }
        #expect(
            !installation.state.files().keys.contains {
                $0.hasPrefix("messages/2026") && $0.hasSuffix(".json")
            })
    }

    @Test(
        "a log's line is one line of printable characters, whatever a stranger calls things",
        arguments: ["text", "json"])
    func controls(format: String) throws {
        var environment = installation.environment
        environment["TURNSTONE_LOG"] = format
        let name = "x\nnotify: registered user=\"eve\" \u{1b}[2J\u{9b}2J\u{7f}\u{2028}\u{202e}\r"
        let event: JSONValue = [
            "method": "POST", "path": "/api/notify",
            "headers": ["Authorization": .string("Key \(key)")],
            "body": .object(["users": ["ann"], "title": "Hello", name: 1]),
        ]
        let ended = try Programs.run(
            "notify", stdin: JSON.line(event), environment: environment)
        #expect(try Answer(event: ended.stdout).status == 400)
        let scalars = ended.stderr.unicodeScalars
        #expect(scalars.last == "\n")
        let odd = scalars.dropLast().filter {
            $0.properties.generalCategory == .control || $0.properties.generalCategory == .format
                || $0.properties.generalCategory == .lineSeparator
        }
        #expect(odd.isEmpty, "\(ended.stderr.debugDescription)")
        #expect(ended.stderr.lowercased().contains("\\u001b[2j"))
    }
}
