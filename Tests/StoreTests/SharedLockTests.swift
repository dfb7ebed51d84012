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
            #expect(try scratch.remembered(path(user)) == scratch.revision(of: path(user)))
        }
        #expect(SharedLock.file(of: path(users[0])) == SharedLock.file(of: path(users[1])))
        // It has been given up.
        let file = try FileDescriptor.open(scratch.lockPath(of: path(users[0])), .update)
        #expect(try file.tryLock())
    }

    /// What a file system may do with a lock while its holder's machine stands still.
    enum Loss: CaseIterable { case nothing, givenAway, committed, removed }

    @Test(
        "who stood still commits only what nobody else may have changed", arguments: Loss.allCases)
    func stoodStill(loss: Loss) throws {
        let name = Self.sharing[0]
        let user = Shelf<UserID, User>(folder: "\(scratch.folder.path)/users", isLocal: false)[name]
        try user.update { $0.notices = 1 }
        let file = path(name)
        let lock = scratch.lockPath(of: file)
        let failure = cause {
            try user.update { (document) throws(Failure) in
                sleep(for: .milliseconds(5100))
                switch loss {
                case .nothing: break
                case .givenAway:
                    // Now nobody holds the file of this name.
                    try systemCalls { () throws(SystemError) in
                        try Files.replace(lock, with: Files.contents(lock) ?? [])
                    }
                case .committed:
                    try? scratch.write(["version": 2, "revision": 7, "notices": 1], to: file)
                case .removed:
                    try systemCalls { () throws(SystemError) in
                        for path in [lock, "\(scratch.folder.path)/\(file)"] {
                            _ = try Files.erase(path)
                        }
                    }
                }
                document.notices = 2
            }
        }
        #expect(failure == (loss == .nothing ? nil : "busy"))
        let left: JSONValue? =
            switch loss {
            case .nothing: 2
            case .givenAway, .committed: 1
            case .removed: nil
            }
        #expect(try scratch.members(file)?["notices"] == left)
    }

    @Test(
        "who stood still removes only what nobody else may have changed", arguments: [true, false])
    func stoodStillBeforeARemoval(isChanged: Bool) throws {
        let name = Self.sharing[0]
        let user = Shelf<UserID, User>(folder: "\(scratch.folder.path)/users", isLocal: false)[name]
        try user.update { $0.notices = 1 }
        var looks = 0
        let failure = cause {
            _ = try user.remove { (document) in
                looks += 1
                guard looks == 2 else { return true }
                sleep(for: .milliseconds(5100))
                if isChanged {
                    try? scratch.write(
                        ["version": 2, "revision": .integer(.max), "notices": 2], to: path(name))
                }
                return true
            }
        }
        #expect(failure == (isChanged ? "busy" : nil))
        #expect(try user.read()?.notices == (isChanged ? 2 : nil))
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

    @Test("a group is read while its lock file is held, and not while another program holds it")
    func group() throws {
        let users = Self.sharing
        for user in users[..<2] { try self.users[user].update { $0.notices = 1 } }
        #expect(self.users.groups(of: users) == [users])
        let path = scratch.lockPath(of: path(users[0]))
        let file = try FileDescriptor.open(path, .update)
        func read() throws -> [Int64?] {
            var found: [Int64?] = []
            try self.users.readIfIdle(users) { (_, user) throws(Failure) in
                found.append(user?.notices)
                #expect((try? FileDescriptor.open(path, .update).tryLock()) == false)
            }
            return found
        }
        // There is no third document.
        #expect(try read() == [1, 1, nil])
        // The lock file has been given up.
        #expect(try file.tryLock())
        #expect(try read() == [nil, nil, nil])
        file.unlock()
        #expect(try read() == [1, 1, nil])
        // Who holds one of the documents reads the others.
        try self.users[users[0]].holding { (_, _) throws(Failure) in
            #expect((try? read()) == [nil, 1, nil])
        }
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

    @Test(
        "users are renamed into each other's place by many at once, and no change is lost",
        .ownExecutor(seconds: 900), arguments: [true, false])
    func moves(isShared: Bool) async throws {
        let users = isShared ? Self.sharing : (1...3).map { UserID("mover\($0)")! }
        #expect((Set(users.map { SharedLock.file(of: path($0)) }).count == 1) == isShared)
        let folder = scratch.folder.path
        try self.users[users[0]].update { $0.notices = 1 }
        let moved: [Int] = try await atOnce(4) { number in
            let state = try Scratch.open(folder)
            return try (0..<50).count { round in
                let (from, to) = (users[(number + round) % 3], users[(number + round + 1) % 3])
                return try Self.move(from, to: to, in: state)
            }
        }
        let left: [Int64] = try users.compactMap { try self.users[$0].read()?.notices }
        let count = moved.reduce(0, +)
        #expect(count >= 50 && left == [Int64(count + 1)], "\(moved)")
        // Nobody's document counts as lost.
        for user in users { try self.users[user].update { $0.notices += 1 } }
    }

    /// - Returns: whether it was there and the other name was free.
    private static func move(_ from: UserID, to: UserID, in state: State) throws -> Bool {
        do {
            return try patiently {
                try state.users[from].move(to: state.users[to]) { (user) throws(Failure) in
                    guard user.notices > 0 else { throw .malformed("it is elsewhere") }
                    user.notices += 1
                }
            }
        } catch let failure as Failure where failure.cause == "refused" { return false }
    }

    @Test(
        "while a document's state cannot be trusted yet, others in its lock file are changed",
        .ownExecutor(seconds: 900))
    func stale() async throws {
        let users = Self.sharing
        for user in users { try self.users[user].update { $0.notices = 1 } }
        try scratch.remember(scratch.revision(of: path(users[0])) + 1, for: path(users[0]))
        try scratch.folder.remove(path(users[1]))
        let folder = scratch.folder.path
        let longest = try await atOnce(3) { number -> Int64 in
            // Like one that several machines share.
            let shelf = Shelf<UserID, User>(folder: "\(folder)/users")
            guard number < 2 else {
                usleep(100_000)
                return try (0..<20).map { _ in
                    let start = Instant.now
                    try shelf[users[2]].update { $0.notices += 1 }
                    usleep(50_000)
                    return (Instant.now - start).milliseconds
                }.max()!
            }
            let start = Instant.now
            let found = cause { try shelf[users[number]].update { $0.notices += 1 } }
            #expect(found == ["stale", "missing"][number])
            return (Instant.now - start).milliseconds >= 3000 ? 0 : 10_000
        }.max()!
        #expect(longest < 1000)
    }

    @Test("where no other machine can change a document, nobody waits for another state of it")
    func local() throws {
        let users = Self.sharing
        for user in users { try self.users[user].update { $0.notices = 1 } }
        try scratch.remember(scratch.revision(of: path(users[0])) + 1, for: path(users[0]))
        try scratch.folder.remove(path(users[1]))
        let start = Instant.now
        #expect(cause { try self.users[users[0]].update { $0.notices += 1 } } == "stale")
        #expect(cause { try self.users[users[1]].update { $0.notices += 1 } } == "missing")
        #expect(
            cause { _ = try self.users[users[1]].move(to: self.users[UserID("new")!]) { _ in } }
                == "missing")
        #expect(Instant.now - start < .seconds(1))
    }

    @Test("a shared lock file that cannot be used is reported and stays; a document's own does not")
    func unusable() throws {
        let user = Self.sharing[0]
        try users[user].update { $0.notices = 1 }
        let file = SharedLock.file(of: path(user))
        try scratch.folder.remove(file)
        try scratch.folder.write("x", to: "\(file)/inside")
        try scratch.folder.write("x", to: "\(path(user)).lock/inside")
        #expect(cause { _ = try scratch.state.takeDevices(of: user) } != nil)
        #expect(scratch.folder.read("\(file)/inside") != nil)
        #expect(scratch.folder.read("\(path(user)).lock/inside") == nil)
        do throws(Failure) {
            _ = try scratch.state.eraseDocument(of: user)
            Issue.record("it was not locked")
        } catch {
            #expect(error.sentence.contains(file), "\(error)")
        }
        let look = "looks/\(UserID(Scratch.player).documentName.shard!)/\(Scratch.player).json"
        try scratch.folder.write("x", to: "\(SharedLock.file(of: look))/inside")
        #expect(
            cause { try scratch.state.looks[Scratch.player].update { $0.at = Scratch.time } } != nil
        )
        #expect(scratch.folder.read("\(SharedLock.file(of: look))/inside") != nil)
    }

    @Test(
        "no commit of several writers of several documents at once is lost",
        .ownExecutor(seconds: 900)
    )
    func writersAtOnce() async throws {
        let users = Self.sharing
        let path = scratch.folder.path
        for user in users { try self.users[user].update { $0.notices = 1 } }
        let begun = try users.map { try scratch.revision(of: self.path($0)) }
        _ = try await atOnce(6) { number in
            let state = try Scratch.open(path)
            for _ in 0..<50 {
                try patiently { try state.users[users[number % 3]].update { $0.notices += 1 } }
            }
        }
        for (user, first) in zip(users, begun) {
            #expect(try self.users[user].read()?.notices == 101)
            #expect(scratch.remembered(self.path(user)) == first + 100)
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
        #expect(SharedLock.revision(of: path(users[1]), in: other) != nil)
        #expect(SharedLock.revision(of: path(users[0]), in: other) == nil)
        #expect(try state.users[users[0]].read()?.notices == 1)
    }

    @Test("an erased document leaves no line, also if only the line was left")
    func erased() throws {
        let user = Self.sharing[0]
        let name = path(user)
        try users[user].update { $0.notices = 1 }
        #expect(scratch.remembered(name) != nil)
        #expect(try users[user].erase() == 1)
        #expect(scratch.remembered(name) == nil)
        try scratch.remember(4, for: name)
        #expect(try users[user].erase() == 0)
        #expect(scratch.remembered(name) == nil)
        #expect(try users[user].read() == nil)
    }

    @Test(
        "a document without a line counts as any other, and its next commit makes one, above all copies"
    )
    func withoutLine() throws {
        let user = Self.sharing[0]
        let name = path(user)
        let begin = Timestamp.systemNow.milliseconds
        for round in 1...3 as ClosedRange<Int64> {
            try users[user].update { $0.notices = round }
            let file = try FileDescriptor.open(scratch.lockPath(of: name), .update)
            try RevisionTable(in: file).remove(#require(user.documentName.lock).key)
            #expect(scratch.remembered(name) == nil)
            #expect(try users[user].read()?.notices == round)
        }
        try scratch.folder.write(#"{"version":1,"revision":90,"notices":3}"#, to: name)
        try users[user].update { $0.notices = 4 }
        #expect(try scratch.remembered(name) == scratch.revision(of: name))
        #expect(try scratch.revision(of: name) >= begin)
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

    @Test("an empty file beside a document that has the committed revision goes away, too")
    func emptiedAndEqual() throws {
        let user = Self.sharing[0]
        let name = path(user)
        for _ in 1...3 { try users[user].update { $0.notices += 1 } }
        let backup = try #require(scratch.folder.read(name))
        for commits in 0...1 {
            try scratch.folder.write(backup, to: name)
            try scratch.folder.write("", to: "\(name).lock")
            try scratch.remember(scratch.revision(of: name), for: name)
            for _ in 0..<commits { try users[user].update { $0.notices += 1 } }
            if commits == 0 { try users[user].update { _ in } }
            #expect(scratch.folder.read("\(name).lock") == nil)
            #expect((scratch.remembered(name) == nil) == (commits == 0))
        }
        // Lost later, it does not count as never committed.
        try scratch.folder.remove(name)
        #expect(cause { try users[user].update { $0.notices += 1 } } == "missing")
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
        #expect(try scratch.remembered(name) == scratch.revision(of: name))
    }

    // MARK: - Version 2

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
        try folder.write(#"{"version":3,"own_locks":"left"}"#, to: "version.json")
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
        let now = Timestamp.systemNow
        try Scratch.open(folder.path).migrateOwnLocks(within: .milliseconds(2000), at: now)
        #expect(folder.read("\(name).lock") != nil, "programs of version 2 may run")
        try pass(folder)
        var rounds = 0
        while try Scratch.open(folder.path).ownLockPhase != nil {
            rounds += 1
            try #require(rounds < 3000)
            try Scratch.open(folder.path).migrateOwnLocks(
                within: .milliseconds(milliseconds), at: now)
        }
        #expect(rounds == 1 || milliseconds == 0)
        let left = folder.files().keys.filter { $0.hasSuffix(".json.lock") }
        #expect(left == ["version.json.lock"])
        #expect(SharedLock.revision(of: name, in: folder) == 3)
        #expect(SharedLock.revision(of: path(UserID("other50")!), in: folder) == 2)
        #expect(folder.read("version.json") == Array(#"{"version":3}"#.utf8))
        #expect(folder.read("locks/migration.json") == nil)
    }

    @Test("what the sweep has to leave out it comes back to, and is not over before")
    func skipped() throws {
        let (folder, name) = try second()
        let (busy, unusable) = (path(UserID("busy")!), path(UserID("unusable")!))
        for name in [busy, unusable] {
            try folder.write(#"{"version":1,"revision":2,"notices":7}"#, to: name)
        }
        try lock(2, busy, in: folder)
        try folder.write("x", to: "\(unusable).lock/inside")
        try pass(folder)
        let now = Timestamp.systemNow
        func sweep() throws -> LayoutVersion.OwnLockPhase? {
            try Scratch.open(folder.path).migrateOwnLocks(within: .seconds(2), at: now)
            return try Scratch.open(folder.path).ownLockPhase
        }
        let held = try SharedLock.open(of: busy, in: folder)
        #expect(try held.tryLock())
        for _ in 1...2 { #expect(try sweep() == .left) }
        #expect(folder.read("\(name).lock") == nil && folder.read("\(busy).lock") != nil)
        held.unlock()
        #expect(try sweep() == .left)
        #expect(folder.read("\(busy).lock") == nil)
        #expect(SharedLock.revision(of: busy, in: folder) == 2)
        #expect(Files.removeAll("\(folder.path)/\(unusable).lock"))
        #expect(try sweep() == nil)
    }

    @Test(
        "a damaged record of the migration lets its phase begin anew",
        arguments: [
            "", "{", #"{"next":99999999999}"#, #"{"next":2048,"skipped":[4096]}"#,
        ])
    func damagedMigration(text: String) throws {
        let (folder, name) = try second()
        try pass(folder)
        try folder.write(text, to: "locks/migration.json")
        try Scratch.open(folder.path).migrateOwnLocks(within: .seconds(2), at: .systemNow)
        #expect(folder.read("\(name).lock") == nil)
        #expect(SharedLock.revision(of: name, in: folder) == 3)
        #expect(try Scratch.open(folder.path).ownLockPhase == nil)
    }

    @Test("who has gone back to version 2 and comes again finds no lines of before")
    func again() throws {
        let (folder, name) = try second()
        try SharedLock.remember(9, of: name, in: folder)
        _ = try Scratch.open(folder.path)
        #expect(SharedLock.revision(of: name, in: folder) == nil)
    }
}
