import Foundation
import JSON
import Spool
import TestSupport
import Testing
import Turnstone

/// What a drainer finds that somebody else has left, rightly or wrongly.
@Suite struct CrashTests {
    let scratch = Scratch()
    let now = Scratch.now
    private var spool: Spool { scratch.spool }

    @Test("a drainer takes over what a killed one had in its hands, as it was")
    func resumed() throws {
        try spool.accept(Scratch.full())
        let claimed = try spool.claim(limit: 1)
        #expect(try Spool(state: scratch.folder.path).resume(at: now) == claimed)
        #expect(scratch.files == ["spool/active/n1.json"])
    }

    @Test("what has its receipt is not sent again")
    func afterTheReceipt() throws {
        try spool.accept(Scratch.notification())
        let claimed = try spool.claim(limit: 1)
        let text = try #require(scratch.folder.read("spool/active/n1.json"))
        try spool.settle(claimed[0], at: now)
        try scratch.folder.write(text, to: "spool/active/n1.json")
        #expect(try spool.resume(at: now).isEmpty)
        #expect(scratch.files == ["receipts/2026-11-21/n1.json"])
    }

    @Test("an acceptance that was never made is no notification")
    func beforeTheRename() throws {
        try scratch.folder.write(#"{"version":1"#, to: "spool/ready/n1.json.new")
        #expect(try spool.find("n1") == nil)
        #expect(try !spool.hasReady() && spool.claim(limit: 9).isEmpty)
        #expect(scratch.files == ["spool/ready/n1.json.new"])
    }

    @Test(
        "what nobody can read is kept out of the way, and holds up nothing",
        arguments: [
            "", "{", "[]", "{}", #"{"version":2,"id":"bad"}"#,
            #"{"version":1,"id":"bad","user":"","accepted_at":1,"expires_at":2,"push":{},"devices":[]}"#,
        ], ["ready", "active", "waiting"])
    func unreadable(text: String, stage: String) throws {
        try scratch.folder.write(text, to: "spool/\(stage)/bad.json")
        try spool.accept(Scratch.notification("good"))
        let taken = try spool.resume(at: now) + spool.claimDue(at: now) + spool.claim(limit: 9)
        #expect(taken.map(\.id) == ["good"])
        #expect(scratch.files == ["spool/active/good.json", "spool/failed/bad.json"])
        #expect(scratch.folder.read("spool/failed/bad.json") == Array(text.utf8))
    }

    @Test(
        "a notification with a member of another type is unreadable",
        arguments: [
            ("user", 1), ("accepted_at", "now"), ("expires_at", .null), ("push", []),
            ("devices", [7]), ("devices", [["device": "xyz"]]),
            ("devices", [["device": "ab", "attempts": [7]]]),
            ("turns", 7), ("version", 2), ("id", "another"),
        ] as [(String, JSONValue)])
    func memberTypes(name: String, value: JSONValue) throws {
        try spool.accept(Scratch.full())
        let text = try #require(scratch.folder.read("spool/ready/n1.json"))
        var members = try #require(try JSON.parse(text).object)
        members[name] = value
        try scratch.folder.write(JSON.text(.object(members)), to: "spool/ready/n1.json")
        #expect(try spool.claim(limit: 9).isEmpty)
        #expect(scratch.files == ["spool/failed/n1.json"])
    }

    @Test("what others put beside the notifications stays where it is")
    func strangers() throws {
        try scratch.folder.write("x", to: "spool/ready/readme.txt")
        #expect(try !spool.hasReady() && spool.claim(limit: 9).isEmpty)
        #expect(scratch.files == ["spool/ready/readme.txt"])
    }

    @Test("a spool that does not exist yet is empty")
    func nothing() throws {
        #expect(try spool.find("n1") == nil)
        #expect(try spool.resume(at: now).isEmpty && spool.claimDue(at: now).isEmpty)
        #expect(try !spool.hasWork(at: now) && spool.nextDue() == nil)
        #expect(scratch.files.isEmpty)
    }

    @Test("a notification is its owner's alone")
    func mode() throws {
        try spool.accept(Scratch.notification())
        for (name, mode) in [
            ("spool", 0o700), ("spool/ready", 0o700), ("spool/ready/n1.json", 0o600),
        ] {
            let facts = try FileManager.default.attributesOfItem(
                atPath: "\(scratch.folder.path)/\(name)")
            #expect(facts[.posixPermissions] as? Int == mode)
        }
    }
}
