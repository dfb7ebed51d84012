import CUnix
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// One file or folder of the state folder that cannot be used, in an installation with its own account:
/// requests that do not need it succeed, and `health` names it.
@Suite(.enabled(if: getuid() == 0, "only root can make another account's file"))
struct UnusableFilesTests {
    static let account: uid_t = 54_321
    static let ann = String(repeating: "ab", count: 32), bob = String(repeating: "cd", count: 32)

    /// A fault of a file.
    enum Fault: String, CaseIterable, Sendable {
        case anotherAccounts, fifo, folder, loop

        func make(_ path: String) {
            unlink(path)
            switch self {
            case .anotherAccounts:
                _ = FileManager.default.createFile(atPath: path, contents: Data())
            case .fifo: mkfifo(path, 0o600)
            case .folder: mkdir(path, 0o700)
            case .loop: symlink(path, path)
            }
            if self == .anotherAccounts {
                chmod(path, 0o600)
            } else {
                lchown(path, UnusableFilesTests.account, UnusableFilesTests.account)
            }
        }
    }

    let installation: Installation
    var state: TemporaryFolder { installation.state }

    init() throws {
        installation = try Endpoint.installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        for (user, token) in [("ann", Self.ann), ("bob", Self.bob)] {
            try state.write(
                #"{"version":1,"revision":1,"devices":[{"token":"\#(token)","platform":"ios","#
                    + #""created_at":1795262390000,"registered_at":1795262390000}],"#
                    + #""ledger":[],"notices":0}"#, to: document(user))
        }
        try give()
    }

    /// Where a user's document is.
    func document(_ user: String) -> String {
        user == "ann" ? "users/49/ann.json" : "users/81/bob.json"
    }

    /// Gives all of the state folder to its account.
    func give() throws {
        for name in try #require(FileManagerNames(state.path)).all + [""] {
            lchown("\(state.path)/\(name)", Self.account, Self.account)
        }
    }

    func ask(
        _ program: String, _ method: String, _ path: String, _ body: String? = nil,
        environment more: [String: String] = [:]
    ) throws -> (answer: Answer, log: String) {
        let credential = #""headers":{"Authorization":"Key \#(Endpoint.serverKey)"}"#
        let event =
            #"{"method":"\#(method)","path":"\#(path)",\#(credential)"#
            + (body.map { #","body":\#($0)"# } ?? "") + "}"
        let ended = try Programs.run(
            program, stdin: event, environment: installation.environment.merging(more) { $1 },
            timeLimit: 20)
        return (try Answer(event: ended.stdout), ended.stderr)
    }

    func health() throws -> String {
        let answer = try ask("health", "GET", "/health").answer
        return answer.status == 200 ? "" : answer.body
    }

    /// Expects that health reports the file while it exists, and not afterwards.
    func expectHealth(names name: String) throws {
        let body = try health()
        #expect(body.contains("files unusable") && body.contains(name), "\(body)")
        try FileManager.default.removeItem(atPath: "\(state.path)/\(name)")
        #expect(try !health().contains(name))
    }

    static let places = [
        "spool/apns/failed/x.jsonl", "receipts/2026-11-20.apns.1.jsonl.unreadable-1795262400000",
        "spool/apns/ready/normal/x.jsonl.new", "tokens/49/x.json", "keys/2d/x.json.corrupt-1",
        "outgoing/x.json", "looks/49/ann.json.new", "deliver.log",
    ]

    @Test(
        "a user is erased though another file cannot be read, and the answer counts it",
        arguments: Fault.allCases, places)
    func erasure(fault: Fault, place: String) throws {
        try state.write("", to: place)
        try give()
        fault.make("\(state.path)/\(place)")
        let (answer, log) = try ask("users", "DELETE", "/api/users/ann")
        #expect(answer.status == 200, "\(answer.body) \(log)")
        #expect(state.read(document("ann")) == nil)
        // Ann is not a player, so the looks at games are not searched.
        if place.hasPrefix("looks/") { return }
        let erased = answer.json?.object?["erased"]?.object
        #expect((erased?["unreadable"]?.integer ?? 0) > 0, "\(answer.body)")
        #expect(log.contains(place), "\(log)")
        // Nor is the user unknown afterwards, as far as anybody can tell.
        let again = try ask("users", "DELETE", "/api/users/ann").answer
        #expect(again.status == 200 && again.body.contains("unreadable"), "\(again.body)")
        try expectHealth(names: place)
    }

    @Test(
        "a player is erased though another player's look cannot be read, and the answer counts it",
        arguments: Fault.allCases, ["looks/49/5.json", "looks/x"])
    func playerErasure(fault: Fault, place: String) throws {
        try watchPlayer()
        try state.write("", to: place)
        try give()
        fault.make("\(state.path)/\(place)")
        let (answer, log) = try ask("users", "DELETE", "/api/users/1783478")
        #expect(answer.status == 200, "\(answer.body) \(log)")
        #expect(state.read("users/eb/1783478.json") == nil)
        if fault == .folder, place == "looks/x" { return }  // a folder as any other
        let erased = answer.json?.object?["erased"]?.object
        #expect((erased?["unreadable"]?.integer ?? 0) > 0, "\(answer.body)")
        #expect(log.contains(place), "\(log)")
    }

    @Test(
        "a user whose own document or its lock cannot be read is erased",
        arguments: Fault.allCases, ["", ".lock", ".new"])
    func ownDocument(fault: Fault, suffix: String) throws {
        fault.make("\(state.path)/\(document("ann"))\(suffix)")
        let (answer, log) = try ask("users", "DELETE", "/api/users/ann")
        #expect(answer.status == 200, "\(answer.body) \(log)")
        #expect(try ask("users", "DELETE", "/api/users/ann").answer.status == 404)
        var status = stat()
        #expect(lstat("\(state.path)/\(document("ann"))", &status) != 0)
    }

    @Test(
        "a lock file that users share is not removed with one of them, and it is said that it cannot be used",
        arguments: Fault.allCases)
    func sharedLock(fault: Fault) throws {
        let shared = SharedLock.file(of: document("ann"))
        try state.write("", to: shared)
        try give()
        fault.make("\(state.path)/\(shared)")
        let (answer, log) = try ask("users", "DELETE", "/api/users/ann")
        #expect(answer.status == 500, "\(answer.body)")
        #expect(log.contains(shared), "\(log)")
        var status = stat()
        #expect(lstat("\(state.path)/\(shared)", &status) == 0)
        try expectHealth(names: shared)
        #expect(try ask("users", "DELETE", "/api/users/ann").answer.status == 200)
        #expect(try ask("users", "DELETE", "/api/users/ann").answer.status == 404)
    }

    @Test(
        "a user whose document cannot be used is refused without a path, and health names the document",
        arguments: Fault.allCases)
    func userDocument(fault: Fault) throws {
        fault.make("\(state.path)/users/eb/1783478.json")
        let endpoint = try #require(Endpoint.alone.first { $0.program == "push-register" })
        let event =
            #"{"method":"POST","path":"\#(endpoint.path)","headers":{"Authorization":"#
            + #""Bearer \#(Endpoint.webToken)"},"body":\#(endpoint.body ?? "")}"#
        let ended = try Programs.run(
            "push-register", stdin: event, environment: installation.environment, timeLimit: 20)
        let answer = try Answer(event: ended.stdout)
        #expect([500, 503].contains(answer.status), "\(answer.body)")
        #expect(!answer.body.contains(state.path))
        try expectHealth(names: "users/eb/1783478.json")
    }

    @Test("a user's document that is damaged and cannot be set aside is named")
    func stuckDocument() throws {
        try state.write("{", to: "users/eb/1783478.json")
        try give()
        chown("\(state.path)/users/eb", 0, Self.account)
        chmod("\(state.path)/users/eb", 0o750)
        let (answer, _) = try ask("users", "GET", "/api/users/1783478")
        #expect(answer.status == 500)
        #expect(try health().contains("users/eb/1783478.json"))
    }

    @Test("the record of a message that cannot be read is named", arguments: Fault.allCases)
    func record(fault: Fault) throws {
        let id = DamagedSpoolTests.bad, other = DamagedSpoolTests.sound
        let name = "messages/2026-11-21/\(id).json"
        let record =
            #"{"version":1,"revision":1,"accepted_at":1795262390000,"kind":"message","devices":0,"#
            + #""receipts":{"day":"2026-11-20","offset":0}}"#
        try state.write(record, to: name)
        try state.write(record, to: "messages/2026-11-19/\(other).json")
        try give()
        fault.make("\(state.path)/\(name)")
        #expect(try ask("notify", "GET", "/api/notify/\(id)").answer.status == 500)
        #expect(try health().contains(name))
        takeAway("messages/2026-11-21")
        #expect(try ask("notify", "GET", "/api/notify/\(other)").answer.status == 200)
    }

    @Test("receipts without access are moved, and the log says what gives access to them")
    func receiptsWithoutAccess() throws {
        let name = "receipts/2026-11-21.apns.1.jsonl"
        try state.write("", to: name)
        try state.write(
            DamagedSpoolTests.text(DamagedSpoolTests.sound),
            to: "spool/apns/ready/normal/\(DamagedSpoolTests.sound).jsonl")
        try give()
        chmod("\(state.path)/\(name)", 0)
        let log = try deliverLog()
        let copy = try #require(
            FileManagerNames("\(state.path)/receipts")?.all.first { $0.contains(".unreadable-") })
        #expect(log.contains("Run: chmod u+rw \(state.path)/receipts/\(copy)."), "\(log)")
    }

    @Test(
        "where a damaged notification cannot be moved, the log names the folder that refuses it",
        arguments: [true, false])
    func closedFolder(isOurs: Bool) throws {
        try state.write("{", to: "spool/apns/ready/normal/\(DamagedSpoolTests.bad).jsonl")
        let folder = "\(state.path)/spool/apns/failed"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try give()
        chmod(folder, 0o555)
        if !isOurs { chown(folder, 0, 0) }
        let log = try deliverLog()
        let advice = isOurs ? "chmod u+rwx \(folder)" : "chown -R \(Self.account): \(state.path)"
        #expect(log.contains("Run: \(advice)."), "\(log)")
    }

    /// What `deliver` logs.
    private func deliverLog() throws -> String {
        try Programs.run("deliver", environment: installation.environment, timeLimit: 20).stderr
    }

    @Test("a user whose document cannot even be removed is not called erased, and health names it")
    func obstinateDocument() throws {
        let path = "\(state.path)/\(document("ann"))"
        unlink(path)
        try FileManager.default.createDirectory(
            atPath: "\(path)/x", withIntermediateDirectories: true)
        #expect(try ask("users", "DELETE", "/api/users/ann").answer.status == 500)
        #expect(try health().contains(document("ann")))
    }
}
