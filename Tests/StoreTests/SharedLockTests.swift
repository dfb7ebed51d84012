import Dispatch
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Documents
@testable import Store

/// Documents that share a lock file.
@Suite struct SharedLockTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private var users: Shelf<UserID, User> { scratch.state.users }

    private func path(_ user: UserID) -> String {
        let name = user.documentName
        return "users/\(name.shard!)/\(name.file).json"
    }

    /// Users whose documents have the same lock file.
    private static let sharing: [UserID] = {
        var found: [String: [UserID]] = [:]
        for number in 1... {
            let user = UserID("user\(number)")!
            let file = user.documentName.lock!.file
            found[file, default: []].append(user)
            if found[file]!.count == 3 { return found[file]! }
        }
        return []
    }()

    @Test("a thread that holds a document may take another one with the same lock file")
    func nested() throws {
        let users = Self.sharing
        try self.users[users[0]].update { (first) throws(Failure) in
            first.notices = 1
            try self.users[users[1]].update { (second) throws(Failure) in
                second.notices = 2
                try self.users[users[2]].update { $0.notices = 3 }
            }
        }
        for (number, user) in users.enumerated() {
            #expect(try self.users[user].read()?.notices == Int64(number + 1))
            #expect(scratch.remembered(path(user)) == 1)
        }
        #expect(SharedLock.file(of: path(users[0])) == SharedLock.file(of: path(users[1])))
        // It has been given up.
        let file = try FileDescriptor.open(scratch.lockPath(of: path(users[0])), .update)
        #expect(try file.tryLock())
    }

    @Test("a second lock of the same document is refused at once")
    func twice() throws {
        let user = users[Self.sharing[0]]
        try user.update { (document) throws(Failure) in
            document.notices = 1
            #expect(cause { try user.update { $0.notices = 2 } } == "busy")
            #expect((try? user.readIfIdle()) == .some(nil))
        }
        #expect(try user.read()?.notices == 1)
    }

    @Test("another thread waits while a nested lock is given up")
    func exclusion() throws {
        let users = Self.sharing
        try self.users[users[0]].holding { (_, commit) throws(Failure) in
            try self.users[users[1]].update { $0.notices = 1 }
            var isFree = true
            let path = scratch.lockPath(of: path(users[2]))
            DispatchQueue(label: "other").sync {
                let file = try? FileDescriptor.open(path, .update)
                isFree = (try? file?.tryLock()) ?? true
            }
            #expect(!isFree)
            _ = commit
        }
    }

    @Test("two users who share a lock file are renamed into each other's place by many at once")
    func moves() async throws {
        let users = Self.sharing
        let path = scratch.folder.path
        try self.users[users[0]].update { $0.notices = 1 }
        _ = try await atOnce(4) { number in
            let state = try Scratch.open(path)
            for round in 0..<50 {
                let (from, to) = (users[(number + round) % 3], users[(number + round + 1) % 3])
                // It may be another one's turn.
                _ = try? patiently { try state.users[from].move(to: state.users[to]) { _ in } }
            }
        }
        let left = try users.filter { try self.users[$0].read() != nil }
        #expect(left.count == 1, "\(left)")
        // Nobody's document counts as lost.
        for user in users { try self.users[user].update { $0.notices += 1 } }
    }

    @Test(
        "no commit of several writers of several documents at once is lost", .timeLimit(.minutes(2))
    )
    func writersAtOnce() async throws {
        let users = Self.sharing
        let path = scratch.folder.path
        _ = try await atOnce(6) { number in
            let state = try Scratch.open(path)
            for _ in 0..<50 {
                try patiently { try state.users[users[number % 3]].update { $0.notices += 1 } }
            }
        }
        for user in users {
            #expect(try self.users[user].read()?.notices == 100)
            #expect(scratch.remembered(self.path(user)) == 100)
        }
    }

    @Test("thousands of documents share a file, each with its own revision")
    func levels() throws {
        let file = try FileDescriptor.open("\(scratch.folder.path)/table", .update)
        let table = RevisionTable(in: file)
        var keys: [UInt64: Int64] = [:]
        var random = SystemRandomNumberGenerator()
        for revision in 1...6000 as ClosedRange<Int64> {
            let key = UInt64.random(in: 1 ... .max, using: &random)
            try table.store(revision, of: key)
            keys[key] = revision
        }
        let removed = keys.keys.prefix(2000).map { $0 }
        let size = try file.size()
        for key in removed {
            try table.remove(key)
            #expect(try table.revision(of: key) == nil)
            try table.store(7, of: key)
        }
        #expect(try file.size() == size, "a free line is used again")
        for key in removed {
            try table.remove(key)
            keys[key] = nil
        }
        for (key, revision) in keys { #expect(try table.revision(of: key) == revision) }
        for key in removed { #expect(try table.revision(of: key) == nil) }
    }

    @Test("the lines of a copy tell nothing, and are replaced by the next commit")
    func copy() throws {
        let users = Self.sharing
        for user in users { try self.users[user].update { $0.notices = 1 } }
        let other = TemporaryFolder()
        for (name, bytes) in scratch.folder.files() where name != self.path(users[1]) {
            try other.write(bytes, to: name)
        }
        let state = try Scratch.open(other.path)
        #expect(try state.users[users[1]].read() == nil)
        try state.users[users[1]].update { $0.notices = 5 }
        #expect(SharedLock.revision(of: path(users[1]), in: other) == 1)
        #expect(SharedLock.revision(of: path(users[0]), in: other) == nil)
        #expect(try state.users[users[0]].read()?.notices == 1)
    }

    @Test("an erased document leaves no line, also if only the line was left")
    func erased() throws {
        let user = Self.sharing[0]
        let name = path(user)
        try users[user].update { $0.notices = 1 }
        #expect(scratch.remembered(name) == 1)
        #expect(try users[user].erase() == 1)
        #expect(scratch.remembered(name) == nil)
        try scratch.remember(4, for: name)
        #expect(try users[user].erase() == 0)
        #expect(scratch.remembered(name) == nil)
        #expect(try users[user].read() == nil)
    }

    @Test("a kill between the line and the document leaves a document that counts as any other")
    func killedRemoval() throws {
        let user = Self.sharing[0]
        let name = path(user)
        for round in 1...3 as ClosedRange<Int64> {
            try users[user].update { $0.notices = round }
            let file = try FileDescriptor.open(scratch.lockPath(of: name), .update)
            try RevisionTable(in: file).remove(#require(user.documentName.lock).key)
            #expect(scratch.remembered(name) == nil)
            #expect(try users[user].read()?.notices == round)
        }
        try users[user].update { $0.notices = 4 }
        #expect(scratch.remembered(name) == 4)
        try scratch.folder.remove(name)
        #expect(cause { _ = try users[user].read() } == "missing")
    }

    @Test("an operator's empty file does not outlive the commit that it was for")
    func emptied() throws {
        let user = Self.sharing[0]
        let name = path(user)
        for restored in [nil, 2, 9] as [Int?] {
            try users[user].update { $0.notices += 1 }
            try scratch.folder.remove(name)
            if let restored {
                try scratch.folder.write(
                    #"{"version":1,"revision":\#(restored),"notices":7}"#, to: name)
            }
            try scratch.folder.write("", to: "\(name).lock")
            #expect(try users[user].read()?.notices == (restored == nil ? nil : 7))
            try users[user].update { $0.notices += 1 }
            #expect(try users[user].read()?.notices == (restored == nil ? 1 : 8))
            #expect(scratch.folder.read("\(name).lock") == nil)
            for _ in 1...3 { try users[user].update { $0.notices += 1 } }
        }
    }

    @Test(
        "a file of locks that is half written, or not one, keeps nobody from anything",
        arguments: [
            [], [0x54], Array("TSLOCKS1".utf8), [UInt8](repeating: 0, count: 4096),
            [UInt8](repeating: 0xff, count: 5000), Array("00000000000000000009".utf8),
        ])
    func damaged(bytes: [UInt8]) throws {
        let user = Self.sharing[0]
        let name = path(user)
        try users[user].update { $0.notices = 1 }
        let lock = try FileDescriptor.open(scratch.lockPath(of: name), .update)
        try lock.truncate(to: 0)
        try lock.write(bytes, at: 0)
        try users[user].update { $0.notices = 2 }
        #expect(try users[user].read()?.notices == 2)
        #expect(scratch.remembered(name) == 2)
    }

    // MARK: - Version 2

    private static let hour: Int64 = 3_600_000

    /// A folder of version 2 with a user at revision 3, whose lock holds 3.
    private func second() throws -> (folder: TemporaryFolder, name: String) {
        let folder = TemporaryFolder()
        let name = path(Self.sharing[0])
        try folder.write(#"{"version":2}"#, to: "version.json")
        try folder.write(#"{"version":1,"revision":3,"notices":7}"#, to: name)
        try lock(3, name, in: folder)
        return (folder, name)
    }

    /// Writes a lock file as version 2 does.
    private func lock(_ revision: Int64, _ name: String, in folder: TemporaryFolder) throws {
        try folder.write("", to: "\(name).lock")
        let file = try FileDescriptor.open("\(folder.path)/\(name).lock", .update)
        let own = try file.identity()
        let words = [revision, own.inode, own.birth].map { String(format: "%020ld", $0) }
        try file.write(Array(words.joined(separator: " ").utf8), at: 0)
    }

    /// Lets the time pass in which programs of version 2 may run.
    private func pass(_ folder: TemporaryFolder) throws {
        try folder.write(#"{"version":3,"own_locks_until":1}"#, to: "version.json")
    }

    @Test(
        "while programs of version 2 may run, both locks are held, and the numbers stay where they were"
    )
    func both() throws {
        let (folder, name) = try second()
        let user = Self.sharing[0]
        let state = try Scratch.open(folder.path)
        let own = try FileDescriptor.open("\(folder.path)/\(name).lock", .update)
        #expect(try own.tryLock())
        #expect(cause { try state.users[user].update { $0.notices += 1 } } == "busy")
        own.unlock()
        try state.users[user].update { (document) throws(Failure) in
            document.notices += 1
            let isFree = try systemCalls(own.tryLock())
            #expect(!isFree)
        }
        #expect(SharedLock.revision(of: name, in: folder) == nil)
        #expect(folder.read("\(name).lock")?.prefix(20) == Array("00000000000000000004".utf8)[...])
        // A document that is not made leaves none behind.
        try state.users[Self.sharing[1]].update { _ in }
        #expect(folder.read("\(path(Self.sharing[1])).lock") == nil)
    }

    @Test("afterwards a document's next commit takes the number over and removes the file")
    func lazily() throws {
        let (folder, name) = try second()
        let user = Self.sharing[0]
        _ = try Scratch.open(folder.path)
        try pass(folder)
        let state = try Scratch.open(folder.path)
        try lock(5, name, in: folder)
        #expect(cause { try state.users[user].update { $0.notices += 1 } } == "stale")
        try lock(3, name, in: folder)
        try state.users[user].update { $0.notices += 1 }
        #expect(folder.read("\(name).lock") == nil)
        #expect(SharedLock.revision(of: name, in: folder) == 4)
        // One that is missing counts as lost until its file is emptied.
        let other = path(Self.sharing[1])
        try lock(2, other, in: folder)
        #expect(cause { _ = try state.users[Self.sharing[1]].read() } == "missing")
        try folder.write("", to: "\(other).lock")
        #expect(try state.users[Self.sharing[1]].read() == nil)
        try state.users[Self.sharing[1]].update { $0.notices = 1 }
        #expect(folder.read("\(other).lock") == nil)
    }

    @Test(
        "the sweep takes over the rest, in bounded steps, and then there are none",
        arguments: [0, 2000])
    func sweep(milliseconds: Int64) throws {
        let (folder, name) = try second()
        for number in 1...50 {
            let name = path(UserID("other\(number)")!)
            try folder.write(#"{"version":1,"revision":2,"notices":7}"#, to: name)
            try lock(2, name, in: folder)
        }
        let token = "tokens/7d/\(String(repeating: "7d", count: 32)).json"
        try folder.write("", to: "\(token).lock")
        _ = try Scratch.open(folder.path)
        try Scratch.open(folder.path).sweepOwnLocks(within: .milliseconds(2000))
        #expect(folder.read("\(name).lock") != nil, "programs of version 2 may run")
        try pass(folder)
        var rounds = 0
        while try Scratch.open(folder.path).ownLocksUntil != nil {
            rounds += 1
            try #require(rounds < 3000)
            try Scratch.open(folder.path).sweepOwnLocks(within: .milliseconds(milliseconds))
        }
        #expect(rounds == 1 || milliseconds == 0)
        let left = folder.files().keys.filter { $0.hasSuffix(".json.lock") }
        #expect(left == ["version.json.lock"])
        #expect(SharedLock.revision(of: name, in: folder) == 3)
        #expect(SharedLock.revision(of: path(UserID("other50")!), in: folder) == 2)
        #expect(folder.read("version.json") == Array(#"{"version":3}"#.utf8))
    }

    @Test("who has gone back to version 2 and comes again finds no lines of before")
    func again() throws {
        let (folder, name) = try second()
        try SharedLock.remember(9, of: name, in: folder)
        _ = try Scratch.open(folder.path)
        #expect(SharedLock.revision(of: name, in: folder) == nil)
    }
}
