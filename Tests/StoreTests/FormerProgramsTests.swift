import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Documents
@testable import Store

/// Programs of version 2, each of which locks a document by `NAME.json.lock`, beside those of today.
@Suite struct FormerProgramsTests {
    private let folder = TemporaryFolder()

    init() throws {
        try folder.write(#"{"version":2}"#, to: "version.json")
    }

    private func path(_ user: UserID) -> String {
        let name = user.documentName
        return "users/\(name.shard!)/\(name.file).json"
    }

    // MARK: What version 2 does

    /// Runs `body` with the lock of version 2.
    private static func holding<Result>(
        _ document: String, _ body: (FileDescriptor) throws -> Result
    ) throws -> Result {
        while true {
            let path = "\(document).lock"
            try Files.makeFolder(Files.parent(of: path))
            let file = try FileDescriptor.open(path, .update)
            guard try file.lock(patience: .seconds(2)) else {
                throw Failure(.later(seconds: 2), "busy", cause: "busy")
            }
            guard try file.isStill(at: path) else { continue }
            defer { file.unlock() }
            return try body(file)
        }
    }

    private static func remember(_ revision: Int64, in file: FileDescriptor) throws {
        let own = try file.identity()
        let words = [revision, own.inode, own.birth].map { String(format: "%020ld", $0) }
        try file.write(Array(words.joined(separator: " ").utf8), at: 0)
    }

    private static func number(in file: FileDescriptor) throws -> Int64 {
        Int64(String(decoding: try file.read(upTo: 20, at: 0), as: UTF8.self)) ?? 0
    }

    private static func members(_ document: String) throws -> JSONObject? {
        try Files.contents(document).flatMap { try JSON.parse($0).object }
    }

    /// Counts one more notice of a user.
    private static func count(_ document: String) throws {
        try holding(document) { lock in
            var members = try members(document) ?? ["version": 1, "revision": 0, "notices": 0]
            let revision = members["revision"]!.integer! + 1
            #expect(try number(in: lock) < revision, "\(document) is older than its number")
            members["revision"] = .integer(revision)
            members["notices"] = .integer(members["notices"]!.integer! + 1)
            try Files.makeFolder(Files.parent(of: document))
            try Files.replace(document, with: JSON.text(.object(members)))
            try remember(revision, in: lock)
        }
    }

    /// Renames a user, with one more notice.
    ///
    /// - Returns: whether it was there and the name was free.
    private static func move(_ from: String, to: String) throws -> Bool {
        try holding(min(from, to)) { first in
            try holding(max(from, to)) { second in
                guard var members = try members(from), try !Files.exists(to) else { return false }
                let (own, other) = from < to ? (first, second) : (second, first)
                let revision = members["revision"]!.integer! + 1
                members["revision"] = .integer(revision)
                members["notices"] = .integer(members["notices"]!.integer! + 1)
                try Files.replace(from, with: JSON.text(.object(members)))
                try remember(0, in: own)
                try Files.makeFolder(Files.parent(of: to))
                try Files.rename(from, to)
                try remember(revision, in: other)
                Files.remove("\(from).lock")
                return true
            }
        }
    }

    // MARK: Both at once

    @Test("no commit is lost while programs of both versions change the same documents")
    func commits() async throws {
        let users = (1...3).map { UserID("user\($0)")! }
        let (folder, paths) = (self.folder.path, users.map { "\(self.folder.path)/\(path($0))" })
        _ = try Scratch.open(folder)
        _ = try await atOnce(4) { number in
            let state = try Scratch.open(folder)
            for round in 0..<60 {
                if number < 2 {
                    try patiently { try Self.count(paths[round % 3]) }
                } else {
                    try patiently { try state.users[users[round % 3]].update { $0.notices += 1 } }
                }
            }
        }
        let state = try Scratch.open(folder)
        for user in users { #expect(try state.users[user].read()?.notices == 80) }
    }

    /// Two users whose documents' paths have another order than their lock files.
    private func crossing() -> [UserID] {
        for number in 1... {
            let users = [UserID("left\(number)")!, UserID("right\(number)")!]
                .sorted { path($0) < path($1) }
            if SharedLock.file(of: path(users[0])) > SharedLock.file(of: path(users[1])) {
                return users
            }
        }
        return []
    }

    @Test(
        "users are renamed by programs of both versions, and these do not wait for each other in a circle",
        .ownExecutor(seconds: 900))
    func moves() async throws {
        let users = crossing()
        let (folder, paths) = (self.folder.path, users.map { "\(self.folder.path)/\(path($0))" })
        try Scratch.open(folder).users[users[0]].update { $0.notices = 1 }
        let moved: [Int] = try await atOnce(4) { number in
            let state = try Scratch.open(folder)
            return try (0..<100).count { round in
                usleep(UInt32.random(in: 0..<2000))
                let (from, to) = ((number + round) % 2, (number + round + 1) % 2)
                if number < 2 { return try Self.move(paths[from], to: paths[to]) }
                do {
                    return try state.users[users[from]].move(to: state.users[users[to]]) {
                        (user) throws(Failure) in
                        guard user.notices > 0 else { throw .malformed("it is elsewhere") }
                        user.notices += 1
                    }
                } catch let failure as Failure where failure.cause == "refused" { return false }
            }
        }
        let state = try Scratch.open(folder)
        let left: [Int64] = try users.compactMap { try state.users[$0].read()?.notices }
        let count = moved.reduce(0, +)
        #expect(left == [Int64(count + 1)], "\(moved)")
        #expect(moved.allSatisfy { $0 > 10 }, "\(moved)")
        #expect(users.allSatisfy { SharedLock.revision(of: path($0), in: self.folder) == nil })
    }

    @Test(
        "a commit that is under way when version 2 is over keeps its number, and so do those after it"
    )
    func boundary() throws {
        let (first, second) = (UserID("user1")!, UserID("user2")!)
        try Self.count("\(folder.path)/\(path(first))")
        let early = try Scratch.open(folder.path)
        try early.users[first].update { (user) throws(Failure) in
            user.notices += 1
            do { try setOwnLocks("left") } catch { Issue.record("\(error)") }
        }
        #expect(SharedLock.revision(of: path(first), in: folder) == nil)
        let late = try Scratch.open(folder.path)
        try late.users[first].update { $0.notices += 1 }
        #expect(SharedLock.revision(of: path(first), in: folder) == 3)
        // Also for the program that began before.
        try early.users[first].update { $0.notices += 1 }
        try early.users[second].update { $0.notices += 1 }
        #expect(SharedLock.revision(of: path(first), in: folder) == 4)
        #expect(SharedLock.revision(of: path(second), in: folder) != nil)
        for user in [first, second] { #expect(folder.read("\(path(user)).lock") == nil) }
        #expect(try late.users[first].read()?.notices == 4)
    }

    private func setOwnLocks(_ phase: String) throws {
        try folder.write(#"{"version":3,"own_locks":"\#(phase)"}"#, to: "version.json")
    }

    // MARK: Their end

    /// Counts runs of `check-turns`, a minute apart, until nothing waits for version 2.
    private func runs(
        atMost limit: Int = 200, from start: Timestamp, every distance: Interval = .minutes(1)
    ) throws -> Int? {
        for run in 0..<limit {
            let state = try Scratch.open(folder.path)
            guard state.ownLockPhase == .held else { return run }
            let passed = Interval.milliseconds(distance.milliseconds * Int64(run))
            try state.migrateOwnLocks(within: .seconds(2), at: start + passed)
        }
        return nil
    }

    @Test("both locks are held for an hour, which a clock that is set does not shorten")
    func hour() throws {
        let start = Scratch.time
        #expect(try runs(atMost: 30, from: start) == nil)
        #expect(try runs(atMost: 20, from: start + .days(400)) == nil)
        #expect(try runs(atMost: 5, from: start) == nil)
        #expect(try #require(try runs(from: start + .minutes(5))) < 15)
    }

    /// A lock file of a queue, held until the value goes away.
    private func drainer(_ sign: JSONObject, _ queue: String = "apns") throws -> FileDescriptor {
        try folder.write(JSON.text(.object(sign)), to: "spool/\(queue)/drainer.lock")
        let file = try FileDescriptor.open(
            "\(folder.path)/spool/\(queue)/drainer.lock", .update)
        #expect(try file.tryLock())
        return file
    }

    private static let sign: JSONObject = ["term": 1, "pid": 1, "beat": 1_795_262_400_000]

    @Test("and for as long as one of their drainers runs", arguments: ["apns", "web-2"])
    func longDrainer(queue: String) throws {
        let former = try drainer(Self.sign, queue)
        var present = Self.sign
        present["layout"] = 3
        let other = try drainer(present, "fcm")
        #expect(try runs(from: Scratch.time) == nil)
        former.unlock()
        #expect(try runs(from: Scratch.time + .days(1)) == 1)
        withExtendedLifetime(other) {}
    }

    @Test("a drainer that cannot be examined counts as running")
    func unknownDrainer() throws {
        try folder.write("x", to: "spool/apns/drainer.lock/inside")
        #expect(try runs(from: Scratch.time) == nil)
        try folder.remove("spool/apns/drainer.lock")
        #expect(try runs(from: Scratch.time + .days(1)) == 1)
    }

    enum Holder: CaseIterable {
        case former, formerOfNoHost, elsewhere, present, ended
    }

    @Test(
        "a drainer of version 2 on this machine is asked to end, also if it was elected later, and nobody else is",
        .ownExecutor(seconds: 900), arguments: Holder.allCases, [true, false])
    func asked(holder: Holder, isLater: Bool) throws {
        // A program of that name that only sleeps.
        try folder.copyProgram("/bin/sleep", to: "deliver")
        if isLater { _ = try Scratch.open(folder.path) }
        let process = try Programs.start(at: "\(folder.path)/deliver", ["30"], entries: [])
        defer {
            process.send(SIGKILL)
            _ = try? process.end()
        }
        var isRunning: Bool { Files.target(ofLink: "/proc/\(process.id)/exe") != nil }
        var sign = Self.sign
        sign["pid"] = .integer(Int64(process.id))
        sign["host"] = .string(ThisMachine.name)
        switch holder {
        case .former: break
        case .formerOfNoHost: sign["host"] = nil
        case .elsewhere: sign["host"] = "elsewhere"
        case .present: sign["layout"] = 3
        case .ended: break
        }
        let lock = try drainer(sign)
        if holder == .ended { lock.unlock() }
        _ = try Scratch.open(folder.path)
        let isAsked = holder == .former || holder == .formerOfNoHost
        for _ in 0..<(isAsked ? 1000 : 20) where isRunning { usleep(10_000) }
        #expect(isRunning != isAsked)
        withExtendedLifetime(lock) {}
    }

    @Test("a migration that was killed after it had removed some lock files begins again")
    func killed() throws {
        let user = UserID("user1")!
        let name = path(user)
        try Self.count("\(folder.path)/\(name)")
        // Of a version 3 that an operator has gone back from.
        try SharedLock.remember(9, of: name, in: folder)
        try folder.write("x", to: "locks/tokens/0aa.lock")
        try folder.write(#"{"next":2048}"#, to: "locks/migration.json")
        try folder.remove("locks/tokens/0aa.lock")
        try folder.write(#"{"version":3,"#, to: "version.json.new")
        let state = try Scratch.open(folder.path)
        #expect(state.ownLockPhase == .held)
        #expect(!folder.files().keys.contains { $0.hasPrefix("locks/") })
        try state.users[user].update { $0.notices += 1 }
        #expect(try state.users[user].read()?.notices == 2)
    }
}
