import CUnix
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Files of the spool that cannot be read. Their content stays unknown, and all other users get their pushes.
@Suite struct DamagedSpoolTests {
    static let bad = "7c9f2a54-1f0e-8b34-9a11-3d1f4f2c8e01"
    static let sound = "7c9f2a54-1f0e-8b34-9a11-3d1f4f2c8e02"
    static let token = String(repeating: "ab", count: 32)

    /// The fault of the file `bad`.
    enum Fault: String, CaseIterable, Sendable {
        case anotherAccounts, folder, fifo, empty, noJSON, halfALine, newer, wrongDevice,
            danglingLink
        case loop
        /// A terabyte of zeros after it, or in place of its first line.
        case endless, endlessFirstLine

        /// As the receipts say it.
        var reason: String {
            switch self {
            case .anotherAccounts, .folder, .fifo, .loop: "unreadable"
            case .newer: "newer"
            default: "corrupt"
            }
        }

        func make(_ name: String, in state: TemporaryFolder) throws {
            let path = "\(state.path)/\(name)"
            let whole = DamagedSpoolTests.text(DamagedSpoolTests.bad)
            try state.write(whole, to: name)
            switch self {
            case .anotherAccounts: chmod(path, 0o600)
            case .folder:
                unlink(path)
                mkdir(path, 0o700)
            case .fifo:
                unlink(path)
                mkfifo(path, 0o600)
            case .empty: try state.write("", to: name)
            case .noJSON: try state.write("what is this\n", to: name)
            case .halfALine: try state.write(String(whole.dropLast(10)), to: name)
            case .newer:
                try state.write(whole.replacing("\"version\":1", with: "\"version\":2"), to: name)
            case .wrongDevice: try state.write(whole + "{\"n\":1,\"device\":\"x\"}\n", to: name)
            case .endless: truncate(path, 1 << 40)
            case .endlessFirstLine:
                truncate(path, 0)
                truncate(path, 1 << 40)
            case .danglingLink:
                unlink(path)
                symlink("/nowhere", path)
            case .loop:
                unlink(path)
                symlink(path, path)
            }
        }
    }

    static func text(_ id: String) -> String {
        #"{"version":1,"id":"\#(id)","user":"ann","accepted_at":1795262390000,"#
            + #""expires_at":1795272400000,"push":{"push_type":"alert","priority":10,"#
            + #""payload":{"aps":{"alert":"Hello"}}},"kind":"message"}"# + "\n"
            + #"{"n":0,"device":"\#(token)","user":"ann"}"# + "\n"
    }

    /// A state folder of an account of its own, so that one file can be root's.
    private func installation() throws -> Installation {
        let installation = try Installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        try installation.state.write(#"{"version":3}"#, to: "version.json")
        for lane in ["urgent", "normal", "bulk"] {
            try installation.state.write("", to: "spool/apns/ready/\(lane)/x")
            unlink("\(installation.state.path)/spool/apns/ready/\(lane)/x")
        }
        return installation
    }

    private func give(_ state: TemporaryFolder, to user: uid_t) {
        for name in ["", "/version.json", "/spool", "/spool/apns", "/spool/apns/ready"] {
            chown(state.path + name, user, user)
        }
        for lane in ["urgent", "normal", "bulk"] {
            chown("\(state.path)/spool/apns/ready/\(lane)", user, user)
        }
        chown("\(state.path)/spool/apns/ready/normal/\(Self.sound).jsonl", user, user)
    }

    @Test(
        "a file that cannot be read is set aside, and the rest is delivered",
        arguments: Fault.allCases)
    func damage(fault: Fault) throws {
        let installation = try installation()
        let state = installation.state
        try fault.make("spool/apns/ready/normal/\(Self.bad).jsonl", in: state)
        try state.write(Self.text(Self.sound), to: "spool/apns/ready/normal/\(Self.sound).jsonl")
        if fault == .anotherAccounts {
            try #require(getuid() == 0, "only root can make another account's file")
            give(state, to: 54_321)
        }
        let ended = try Programs.run(
            "deliver", environment: installation.environment, timeLimit: 20)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        let receipts = String(
            decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        let lines = receipts.split(separator: "\n")
        #expect(
            lines.contains { $0.contains(Self.sound) && $0.contains("finished_at") }, "\(receipts)")
        #expect(
            lines.contains {
                $0.contains(Self.bad)
                    && $0.contains(#""reason":"\#(fault.reason)","outcome":"damaged""#)
            }, "\(receipts)")
        #expect(
            ended.stderr.contains("\(Self.bad).jsonl") && ended.stderr.contains("spool/apns/failed")
        )
        var status = stat()
        #expect(lstat("\(state.path)/spool/apns/failed/\(Self.bad).jsonl", &status) == 0)
        #expect(lstat("\(state.path)/spool/apns/ready/normal/\(Self.bad).jsonl", &status) != 0)
    }

    @Test(
        "a notification of whatever length the writer may write is read",
        arguments: [65_000, 65_537, 1 << 20, 3 << 20])
    func longLine(count: Int) throws {
        let installation = try installation()
        let name = "spool/apns/ready/normal/\(Self.sound).jsonl"
        let long = String(repeating: "x", count: count)
        let text = Self.text(Self.sound).replacing(
            "\"alert\":\"Hello\"", with: "\"alert\":\"\(long)\"")
        try installation.state.write(text, to: name)
        let ended = try Programs.run("deliver", environment: installation.environment)
        #expect(!ended.stderr.contains("damaged"), "\(ended.stderr)")
        let receipts = String(
            decoding: installation.state.read("receipts/2026-11-21.apns.1.jsonl") ?? [],
            as: UTF8.self)
        #expect(receipts.contains("finished_at"), "\(receipts)")
        #expect(installation.state.read(name) == nil)
    }

    @Test(
        "receipts that end in a terabyte of zeros are read, and written on",
        .ownExecutor(seconds: 900)
    )
    func endlessReceipts() throws {
        let installation = try installation()
        let state = installation.state
        let done =
            #"{"id":"\#(Self.bad)","n":0,"user":"ann","device":"abababab","at":1795262395000,"#
            + #""apns_id":"x","status":200,"outcome":"accepted"}"# + "\n"
        try state.write(done, to: "receipts/2026-11-21.apns.1.jsonl")
        try state.write(#"{"term":1,"ended":true}"#, to: "spool/apns/drainer.lock")
        truncate("\(state.path)/receipts/2026-11-21.apns.1.jsonl", 1 << 40)
        for id in [Self.bad, Self.sound] {
            try state.write(Self.text(id), to: "spool/apns/ready/normal/\(id).jsonl")
        }
        let ended = try Programs.run(
            "deliver", environment: installation.environment, timeLimit: 20)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        var status = stat()
        #expect(stat("\(state.path)/receipts/2026-11-21.apns.1.jsonl", &status) == 0)
        try #require(status.st_size < 1 << 20)
        let receipts = String(
            decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        #expect(receipts.hasPrefix(done))
        let lines = receipts.split(separator: "\n")
        #expect(lines.count { $0.contains(Self.bad) && $0.contains("apns_id") } == 1, "\(receipts)")
        #expect(lines.count { $0.contains("finished_at") } == 2, "\(receipts)")
    }

    @Test("the devices that can still be read get the outcome `damaged`")
    func devices() throws {
        let installation = try installation()
        try Fault.wrongDevice.make(
            "spool/apns/ready/normal/\(Self.bad).jsonl", in: installation.state)
        _ = try Programs.run("deliver", environment: installation.environment)
        let receipts = String(
            decoding: installation.state.read("receipts/2026-11-21.apns.1.jsonl") ?? [],
            as: UTF8.self)
        #expect(
            receipts.split(separator: "\n").contains {
                $0.contains(#""n":0,"user":"ann","device":"abababab","#)
                    && $0.contains(#""outcome":"damaged""#)
            }, "\(receipts)")
    }

    @Test("a file that was mended and put back is delivered")
    func mended() throws {
        let installation = try installation()
        let state = installation.state
        let name = "spool/apns/ready/normal/\(Self.bad).jsonl"
        try Fault.wrongDevice.make(name, in: state)
        _ = try Programs.run("deliver", environment: installation.environment)
        try state.write(Self.text(Self.bad), to: name)
        unlink("\(state.path)/spool/apns/failed/\(Self.bad).jsonl")
        _ = try Programs.run("deliver", environment: installation.environment)
        let receipts = String(
            decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        #expect(receipts.contains("finished_at"), "\(receipts)")
        #expect(state.read(name) == nil)
    }

    @Test("where a file cannot even be moved it is skipped, once with a line in the log")
    func stuck() throws {
        let installation = try installation()
        let state = installation.state
        try Fault.noJSON.make("spool/apns/ready/normal/\(Self.bad).jsonl", in: state)
        try state.write(Self.text(Self.sound), to: "spool/apns/ready/normal/\(Self.sound).jsonl")
        try state.write("no folder", to: "spool/apns/failed")
        var receipts = ""
        for _ in 0..<2 {
            let ended = try Programs.run(
                "deliver", environment: installation.environment, timeLimit: 20)
            #expect(ended.exitCode == 0)
            #expect(ended.stderr.split(separator: "\n").count { $0.contains(Self.bad) } == 1)
            receipts = String(
                decoding: state.read("receipts/2026-11-21.apns.1.jsonl") ?? [], as: UTF8.self)
        }
        let lines = receipts.split(separator: "\n")
        #expect(lines.contains { $0.contains(Self.sound) && $0.contains("finished_at") })
        #expect(lines.count { $0.contains(Self.bad) } == 1, "the second run says nothing new")
    }

    @Test("receipts that cannot be read are set aside", arguments: [true, false])
    func receipts(isFolder: Bool) throws {
        let installation = try installation()
        let state = installation.state
        mkdir("\(state.path)/receipts", 0o700)
        let path = "\(state.path)/receipts/2026-11-21.apns.1.jsonl"
        try state.write(#"{"term":1,"ended":true}"#, to: "spool/apns/drainer.lock")
        _ = isFolder ? mkdir(path, 0o700) : mkfifo(path, 0o600)
        try state.write(Self.text(Self.sound), to: "spool/apns/ready/normal/\(Self.sound).jsonl")
        let ended = try Programs.run(
            "deliver", environment: installation.environment, timeLimit: 20)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        #expect(state.read("receipts/2026-11-21.apns.1.jsonl") == nil)
        let receipts = String(
            decoding: state.read("receipts/2026-11-21.apns.2.jsonl") ?? [], as: UTF8.self)
        #expect(receipts.contains("finished_at"))
        #expect(ended.stderr.contains(".unreadable-"))
    }
}

/// A program that root starts in another account's state folder.
@Suite(.enabled(if: getuid() == 0, "only root can become somebody else")) struct OwnershipTests {
    private func installation(of user: uid_t) throws -> Installation {
        let installation = try Endpoint.installation()
        let folder = installation.state.path
        for name in try #require(FileManagerNames(folder)).all + [""] {
            chown("\(folder)/\(name)", user, user)
        }
        return installation
    }

    @Test("what root starts writes as the owner of the state folder, and says so")
    func owner() throws {
        let installation = try installation(of: 54_321)
        let ended = try Programs.run(
            "generate-api-key",
            stdin: #"{"method":"POST","path":"/generate-api-key","body":"#
                + #"{"user_id":"7","master_key":"\#(Endpoint.masterKey)"}}"#,
            environment: installation.environment)
        #expect(try Answer(event: ended.stdout).status == 200, "\(ended.stdout)")
        #expect(
            ended.stderr
                == "generate-api-key: started by root: running as uid 54321, the owner of \(installation.state.path)\n"
        )
        let cycle = try Programs.run("check-turns", environment: installation.environment)
        #expect(cycle.exitCode == 0, "\(cycle.stderr)")
        for name in try #require(FileManagerNames(installation.state.path)).all {
            var status = stat()
            #expect(lstat("\(installation.state.path)/\(name)", &status) == 0)
            #expect(status.st_uid == 54_321 && status.st_gid == 54_321, "\(name)")
        }
    }

    @Test("a folder that root makes is root's")
    func newFolder() throws {
        let installation = try Installation()
        let path = "\(installation.state.path)/new"
        let environment = installation.environment.merging(["TURNSTONE_STATE": path]) { $1 }
        let ended = try Programs.run(
            "health", stdin: #"{"method":"GET","path":"/health"}"#, environment: environment)
        #expect(ended.stderr.isEmpty)
        var status = stat()
        #expect(stat("\(path)/version.json", &status) == 0 && status.st_uid == 0)
    }
}

/// The names in a folder and those in it, folders too.
struct FileManagerNames {
    let all: [String]

    init?(_ folder: String) {
        guard let list = FileManager.default.enumerator(atPath: folder) else { return nil }
        all = list.compactMap { $0 as? String }
    }
}
