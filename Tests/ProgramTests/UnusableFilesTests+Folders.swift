import CUnix
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

// Folders that cannot be entered, and files that can be made again.

extension UnusableFilesTests {
    func takeAway(_ folder: String) {
        chown("\(state.path)/\(folder)", 0, 0)
        chmod("\(state.path)/\(folder)", 0o700)
    }

    func watchPlayer() throws {
        try state.write(
            #"{"version":1,"revision":1,"devices":[{"token":"\#(Endpoint.token)","#
                + #""registered_at":1795262390000}],"ledger":[],"notices":0}"#,
            to: "users/eb/1783478.json")
        try give()
    }

    @Test(
        "a folder of users that cannot be entered keeps no cycle from the other players",
        arguments: [false, true])
    func shard(hasIndex: Bool) throws {
        try watchPlayer()
        var environment = installation.environment
        if hasIndex {
            _ = try Programs.run("check-turns", environment: environment, timeLimit: 30)
            // Online-Go.com does not answer, so the reason for a pause may disappear.
            unlink("\(state.path)/ogs.json")
            unlink("\(state.path)/ogs.json.lock")
            environment["TURNSTONE_NOW"] = "1795262490000"
        }
        takeAway("users/49")
        let ended = try Programs.run("check-turns", environment: environment, timeLimit: 30)
        #expect(ended.stdout.contains(#""due":1"#), "\(ended.stdout) \(ended.stderr)")
        #expect(try health().contains("users/49 (EACCES)"))
        chown("\(state.path)/users/49", Self.account, Self.account)
        #expect(try !health().contains("users/49"))
    }

    @Test(
        "a file that was never there is named while the folder above cannot be entered, and not afterwards",
        arguments: ["users", "keys", "tokens"])
    func newcomer(folder: String) throws {
        try state.write("", to: "keys/00/.keep")
        try state.write("", to: "tokens/00/.keep")
        try give()
        takeAway(folder)
        // The JSON Web Token names a user without a document.
        let registration =
            #"{"method":"POST","path":"/api/push/register","headers":{"Authorization":"Bearer "#
            + #"\#(Endpoint.webToken)"},"body":{"token":"\#(Endpoint.token)","tokenType":"device"}}"#
        _ = try Programs.run(
            "push-register", stdin: registration, environment: installation.environment,
            timeLimit: 20)
        let event = #"{"method":"GET","path":"/check/7","headers":{"X-API-Key":"unknown"}}"#
        _ = try Programs.run(
            "check", stdin: event, environment: installation.environment, timeLimit: 20)
        #expect(try health().contains("\(folder)/"))
        chown("\(state.path)/\(folder)", Self.account, Self.account)
        #expect(try !health().contains("files unusable"))
    }

    @Test(
        "a folder without access is named before a program meets it",
        arguments: [
            "users", "users/49", "tokens", "locks", "locks/users", "watch", "receipts",
            "messages/2026-11-21", "audience", "credentials", "statistics", "transfers", "spool",
            "spool/apns", "spool/apns/cancelled", "spool/apns/series",
            "spool/apns/ready", "spool/apns/ready/normal", "spool/apns/held/1795262400000",
            "spool/apns/waiting",
        ], [0o000, 0o100, 0o400, 0o500] as [mode_t])
    func closedFolder(folder: String, mode: mode_t) throws {
        try state.write("", to: "\(folder)/.keep")
        try state.write("", to: "spool/apns/ready/normal/.keep")
        try give()
        chmod("\(state.path)/\(folder)", mode)
        let body = try health()
        #expect(body.contains("cannot be used: \(folder) (EACCES)"), "\(body)")
        #expect(body.contains("chmod -R u+rwX"))
        chmod("\(state.path)/\(folder)", 0o700)
        #expect(try !health().contains("EACCES"))
    }

    @Test("a folder of the spool without access hides no other problem")
    func closedSpool() throws {
        try state.write("", to: "users/49/.keep")
        try state.write("", to: "spool/apns/ready/normal/.keep")
        try state.write(#"{"version":1,"completed_at":1795262390000}"#, to: "cycle.json")
        try give()
        takeAway("cycle.json")
        for folder in ["users/49", "spool"] { chmod("\(state.path)/\(folder)", 0) }
        let body = try health()
        #expect(body.contains("users/49 (EACCES), spool (EACCES)"), "\(body)")
        #expect(body.contains("cycle.json"), "\(body)")
    }

    @Test("a player's mark is a file, though a file was in its folder's place when it was made")
    func markWithoutFolder() throws {
        try state.write(
            #"{"at":1795262390000,"file":"watch/eb/1783478","reason":"ENOTDIR"}"# + "\n",
            to: "set-aside.jsonl")
        try state.write("", to: "watch/eb")
        try give()
        #expect(try health().contains("watch/eb"))
        unlink("\(state.path)/watch/eb")
        try state.write("", to: "watch/eb/1783478")
        try give()
        #expect(try !health().contains("watch"))
    }

    @Test(
        "a file in the place of a folder is named, and does not keep a cycle from other players",
        arguments: ["users/49", "looks", "looks/49", "tokens", "messages/2026-11-21", "users"],
        [Fault.fifo, .loop])
    func noFolder(folder: String, fault: Fault) throws {
        try watchPlayer()
        try state.write("", to: "messages/2026-11-21/x")
        try give()
        let path = "\(state.path)/\(folder)"
        _ = try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        fault.make(path)
        try give()
        if folder != "users" {
            let ended = try Programs.run(
                "check-turns", environment: installation.environment, timeLimit: 30)
            #expect(ended.stdout.contains(#""due":1"#), "\(ended.stdout) \(ended.stderr)")
        }
        #expect(try health().contains(folder))
        unlink(path)
        let body = try health()
        #expect(!body.contains("no folder") && !body.contains(folder), "\(body)")
    }

    @Test(
        "an older copy in a document's place is named, until an operator lets it begin anew or erases the user",
        arguments: ["lock", "erasure"])
    func olderCopy(remedy: String) throws {
        let old = try #require(state.read(document("ann")))
        let tag = #"{"tags": {"role": "admin"}}"#
        for _ in 0..<2 {
            #expect(try ask("users", "PATCH", "/api/users/ann", tag).answer.status == 200)
        }
        try state.write(old, to: document("ann"))
        try state.write(
            #"{"version":1,"revision":1,"users":["ann"]}"#,
            to: "tokens/17/1737c5f5a7c4c9d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90.json")
        try give()
        let (answer, log) = try ask("users", "PATCH", "/api/users/ann", tag)
        #expect(answer.status == 500 && log.contains("truncate"), "\(answer) \(log)")
        #expect(try health().contains("\(document("ann")) (stale)"))
        #expect(try ask("users", "PATCH", "/api/users/bob", tag).answer.status == 200)
        if remedy == "lock" {
            try state.write("", to: "\(document("ann")).lock")
            try give()
            #expect(try ask("users", "PATCH", "/api/users/ann", tag).answer.status == 200)
        } else {
            #expect(try ask("users", "DELETE", "/api/users/ann").answer.status == 200)
            #expect(try ask("users", "GET", "/api/users/ann").answer.status == 404)
            let left = state.files().filter { name, content in
                name.contains("ann.json")
                    || String(decoding: content, as: UTF8.self).contains(#""ann""#)
            }
            #expect(left.isEmpty, "\(left.keys)")
        }
        #expect(try !health().contains("ann"))
    }

    @Test(
        "a file in the place of a folder of locks is named",
        arguments: ["locks", "locks/users"])
    func fileForFolder(folder: String) throws {
        let path = "\(state.path)/\(folder)"
        try? FileManager.default.removeItem(atPath: path)
        try state.write("", to: folder)
        try give()
        let answer = try ask("users", "PATCH", "/api/users/ann", "{}").answer
        #expect(answer.status == 500, "\(answer)")
        let body = try health()
        #expect(body.contains("files unusable") && body.contains(folder), "\(body)")
        unlink(path)
        #expect(try !health().contains("files unusable"))
    }

    @Test("a folder of the index of users that cannot be entered puts changes off, and is named")
    func audience() throws {
        let count = #"{"everyone": true}"#
        #expect(try ask("notify", "POST", "/api/notify/count", count).answer.status == 200)
        takeAway("audience")
        let tag = #"{"tags": {"role": "admin"}}"#
        for (program, method, path, body) in [
            ("users", "PATCH", "/api/users/ann", tag),
            ("notify", "POST", "/api/notify/count", count),
        ] {
            let (answer, log) = try ask(program, method, path, body)
            #expect(answer.status == 503 && answer.headers["retry-after"] != nil, "\(answer)")
            #expect(log.contains("\(state.path)/audience/"), "\(log)")
            #expect(try health().contains("audience/"))
        }
        chown("\(state.path)/audience", Self.account, Self.account)
        #expect(try ask("users", "PATCH", "/api/users/ann", tag).answer.status == 200)
        #expect(try !health().contains("audience"))
    }

    @Test("an index of players that cannot be opened is made again", arguments: Fault.allCases)
    func index(fault: Fault) throws {
        try watchPlayer()
        fault.make("\(state.path)/players.index")
        let ended = try Programs.run(
            "check-turns", environment: installation.environment, timeLimit: 30)
        #expect(ended.stdout.contains(#""due":1"#), "\(ended.stdout) \(ended.stderr)")
    }

    @Test(
        "a folder of the spool that cannot be entered keeps nothing else from being sent",
        arguments: [
            "spool/apns/waiting/1795262390000", "spool/apns/waiting/1795262390000-1795262340000",
            "spool/apns/waiting/1799262390000", "spool/apns/cancelled", "spool/apns/ready/bulk",
        ])
    func spoolFolder(folder: String) throws {
        try state.write("", to: "\(folder)/x")
        let name = "spool/apns/ready/normal/\(DamagedSpoolTests.sound).jsonl"
        let message = DamagedSpoolTests.text(DamagedSpoolTests.sound)
        try state.write(
            message.replacing(DamagedSpoolTests.token, with: Self.ann), to: name)
        // One whose receipts an earlier drainer has begun.
        let open = "{\"id\":\"\(DamagedSpoolTests.bad)\",\"pass\":1,\"until\":1795262390000}\n"
        try state.write(open, to: "receipts/2026-11-21.apns.1.jsonl")
        try state.write(#"{"term":1,"ended":true}"#, to: "spool/apns/drainer.lock")
        try give()
        takeAway(folder)
        let ended = try Programs.run(
            "deliver", environment: installation.environment, timeLimit: 30)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        let receipts = String(
            decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        #expect(receipts.contains(#""outcome":"accepted""#), "\(receipts) \(ended.stderr)")
        // A message that is not due yet needs no attention.
        if !folder.contains("1799") { #expect(try health().contains(folder)) }
    }

    @Test("a cache's folder that cannot be entered keeps no user from being erased, and is named")
    func cacheFolder() throws {
        try state.write("x", to: "looks/49/x")
        try give()
        takeAway("looks")
        let (answer, _) = try ask("users", "DELETE", "/api/users/ann")
        #expect(answer.status == 200, "\(answer.body)")
        #expect(try health().contains("looks/49 (EACCES)"))
    }

    @Test(
        "a message is accepted though the drainer's log cannot be written",
        arguments: [Fault.fifo, .folder, .loop])
    func log(fault: Fault) throws {
        // A program that has given up root's rights cannot find out where it is, and starts no other.
        chown(state.path, 0, 0)
        fault.make("\(state.path)/deliver.log")
        let body = #"{"users":["ann"],"title":"Hello"}"#
        let more = ["TURNSTONE_DELIVER": "spawn"]
        let (answer, log) = try ask("notify", "POST", "/api/notify", body, environment: more)
        #expect(answer.status == 202, "\(answer.body) \(log)")
        var receipts = ""
        for _ in 0..<500 where !receipts.contains("finished_at") {
            usleep(20_000)
            receipts = String(
                decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        }
        #expect(receipts.contains("finished_at"))
        try expectHealth(names: "deliver.log")
    }
}
