import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone
import Unix

/// One document: its commits, and what crashes, other versions and file systems do to it.
@Suite struct DocumentTests {
    let scratch: Scratch
    let file = Scratch.userFile

    init() throws { scratch = try Scratch() }

    private func update(_ change: (inout User) throws(Failure) -> Void = { $0.notices += 1 }) throws
    {
        try scratch.state.users[scratch.user].update(change)
    }

    @Test(
        "each commit counts the revision, from the clock's milliseconds, and the lock remembers it")
    func revisions() throws {
        let begin = Timestamp.systemNow.milliseconds
        try update()
        let first = try scratch.revision(of: file)
        #expect((begin...Timestamp.systemNow.milliseconds).contains(first))
        for revision in first + 1...first + 2 {
            try update()
            #expect(try scratch.revision(of: file) == revision)
            #expect(scratch.remembered(file) == revision)
        }
        #expect(try scratch.state.users[scratch.user].read()?.notices == 3)
    }

    @Test("a reader during the first commit finds it or nothing")
    func firstCommit() async throws {
        let path = scratch.folder.path
        let found = try await atOnce(2) { number in
            let state = try Scratch.open(path)
            return try (1...500).count { round in
                let name = UserID("user\(round)")!
                guard number == 0 else {
                    try state.users[name].update { $0.notices = 1 }
                    return true
                }
                while try state.users[name].read() == nil {}
                return true
            }
        }
        #expect(found == [500, 500])
    }

    @Test("a message changes the badge once, though its request comes again after others")
    func badge() throws {
        for id in ["a", "b", "a", "c", "b"] {
            try update { $0.changeBadge(.add(1), messageID: id) }
        }
        #expect(try scratch.state.users[scratch.user].read()?.badge == 3)
    }

    @Test("a message is remembered while a hundred others change the badge")
    func manyBadges() {
        var user = User()
        for id in ["first"] + (1...98).map({ "\($0)" }) + ["first"] {
            user.changeBadge(.add(1), messageID: id)
        }
        #expect(user.badge == 99)
    }

    @Test("a change that changes nothing, or throws, commits nothing")
    func noChange() throws {
        try update()
        let before = scratch.folder.files()
        try update { _ in }
        #expect(
            cause {
                try update { (user) throws(Failure) in
                    user.notices = 99
                    throw .malformed("no")
                }
            } == "refused")
        #expect(scratch.folder.files() == before)
    }

    @Test("unknown members are preserved")
    func unknownMembers() throws {
        try scratch.write(
            [
                "version": 1, "revision": 7, "tags": ["club", ["deep": 0]],
                "devices": [["token": "a1b2c3d4", "registered_at": 5, "locale": "de"]],
                "notices": 4,
            ], to: file)
        try update()
        let members = try #require(try scratch.members(file))
        #expect(members["tags"] == ["club", ["deep": 0]])
        #expect(members["devices"]?.array?.first?.object?["locale"] == "de")
        #expect(members["notices"] == 5)
    }

    @Test("a document of a newer version is refused and left alone")
    func newer() throws {
        try scratch.write(["version": 3, "revision": 1, "gadgets": []], to: file)
        let before = scratch.folder.read(file)
        #expect(cause { try update() } == "newer")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "newer")
        #expect(scratch.folder.read(file) == before)
    }

    @Test(
        "a document that does not parse is set aside, and never taken for empty",
        arguments: [
            "", "{", "[]", "{}", #"{"version":1}"#, #"{"version":1,"revision":0}"#,
            #"{"version":1,"revision":1,"devices":[{"token":"xyz","registered_at":1}]}"#,
            #"{"version":1,"revision":1,"devices":[7]}"#,
            #"{"version":1,"revision":1,"devices":5}"#,
            #"{"version":1,"revision":1,"notices":"7"}"#,
            #"{"version":1,"revision":1,"ledger":{}}"#,
        ], [true, false])
    func corrupt(text: String, byWriting: Bool) throws {
        try scratch.folder.write(text, to: file)
        try scratch.remember(1, for: file)
        func touch() throws {
            if byWriting { try update() } else { _ = try scratch.state.users[scratch.user].read() }
        }
        #expect(cause { try touch() } == "corrupt")
        let copies = scratch.files.filter { $0.hasPrefix("\(file).corrupt-") }
        #expect(copies.count == 1)
        #expect(scratch.folder.read(copies[0]) == Array(text.utf8))
        #expect(scratch.folder.read(file) == nil)

        #expect(cause { try update() } == "missing")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "missing")
        #expect(scratch.folder.read(file) == nil)
    }

    @Test(
        "so is one whose lock has no number, as in a restored folder; a copy over an emptied lock is used",
        arguments: [true, false])
    func corruptWithoutNumber(byWriting: Bool) throws {
        try scratch.folder.write("{", to: file)
        func touch() throws {
            if byWriting { try update() } else { _ = try scratch.state.users[scratch.user].read() }
        }
        #expect(cause { try touch() } == "corrupt")
        #expect(cause { try update() } == "missing")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "missing")
        #expect(scratch.folder.read(file) == nil)
        try scratch.write(["version": 1, "revision": 3, "notices": 3], to: file)
        #expect(cause { try update() } == "stale")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "stale")
        try scratch.folder.write("", to: "\(file).lock")
        try update()
        #expect(try scratch.state.users[scratch.user].read()?.notices == 4)
    }

    @Test("a copy that is damaged itself counts as lost, although the lock was emptied for it")
    func corruptCopy() throws {
        try update()
        try scratch.folder.write("{", to: file)
        try scratch.folder.write("", to: "\(file).lock")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "corrupt")
        #expect(cause { try update() } == "missing")
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "missing")
    }

    @Test("a document restored over an emptied lock file is written again")
    func restored() throws {
        try scratch.write(["version": 1, "revision": 3, "notices": 3], to: file)
        try scratch.remember(9, for: file)
        try scratch.folder.write("", to: "\(file).lock")
        let begin = Timestamp.systemNow.milliseconds
        try update()
        #expect(try scratch.revision(of: file) >= begin)
        #expect(try scratch.remembered(file) == scratch.revision(of: file))
    }

    @Test("a crash between the rename and the number is accepted")
    func crashAfterRename() throws {
        try update()
        let first = try scratch.revision(of: file)
        try update()
        try scratch.remember(first, for: file)
        #expect(try scratch.state.users[scratch.user].read()?.notices == 2)
        try update()
        #expect(try scratch.revision(of: file) == first + 2)
        #expect(scratch.remembered(file) == first + 2)
    }

    @Test("a crash before the rename leaves the old document, and the next writer goes on")
    func crashBeforeRename() throws {
        try update()
        try scratch.folder.write(
            #"{"version":1,"revision":2,"notices":1000,"and more"#, to: "\(file).new")
        #expect(try scratch.state.users[scratch.user].read()?.notices == 1)
        try update()
        #expect(try scratch.state.users[scratch.user].read()?.notices == 2)
        #expect(scratch.folder.read("\(file).new") == nil)
    }

    @Test(
        "a stale view of a document, or of none, is later's business, and nothing is written",
        .ownExecutor(seconds: 900))
    func stale() throws {
        try update()
        try scratch.remember(scratch.revision(of: file) + 1, for: file)
        let before = scratch.folder.files()
        #expect(cause { try update() } == "stale")
        #expect(scratch.folder.files() == before)
    }

    @Test("an older document is not read, until its lock is emptied")
    func older() throws {
        try update()
        try scratch.remember(scratch.revision(of: file) + 1, for: file)
        let failure = failure { _ = try scratch.state.users[scratch.user].read() }
        #expect(failure?.cause == "stale" && failure?.file?.hasSuffix(file) == true)
        try scratch.folder.write("", to: "\(file).lock")
        #expect(try scratch.state.users[scratch.user].read()?.notices == 1)
    }

    @Test("an older document that may be lost is read, and the next commit goes on")
    func olderShared() throws {
        let document = scratch.state.sharedDocuments[DocumentName(single: "ogs")]
        try document.update { $0.content["pause"] = 1 }
        let old = try #require(scratch.folder.read("ogs.json"))
        for pause in 2...3 as ClosedRange<Int64> {
            try document.update { $0.content["pause"] = .integer(pause) }
        }
        try scratch.folder.write(old, to: "ogs.json")
        #expect(try document.read()?.content["pause"] == 1)
        try document.update { $0.content["pause"] = 4 }
        let revision = try #require(JSON.parse(old).object?["revision"]?.integer) + 3
        #expect(
            try scratch.members("ogs.json")
                == ["version": 1, "revision": .integer(revision), "pause": 4])
    }

    @Test("a document that was committed and is gone is not begun anew, until its lock is emptied")
    func gone() throws {
        try scratch.remember(3, for: file)
        for _ in 1...2 {
            let read = failure { _ = try scratch.state.users[scratch.user].read() }
            let written = failure { try update() }
            for failure in [read, written] {
                let path = "\(scratch.folder.path)/\(file)"
                #expect(failure?.cause == "missing" && failure?.disposition == .broken)
                #expect(failure?.sentence.contains("it was committed and is gone") == true)
                #expect(failure?.sentence.hasSuffix("Run: truncate -s 0 \(path).lock") == true)
            }
        }
        #expect(scratch.folder.read(file) == nil)
        try scratch.folder.write("", to: "\(file).lock")
        try update()
        #expect(try scratch.state.users[scratch.user].read()?.notices == 1)
    }

    @Test("whoever misses a document that was set aside is told where the copy is")
    func copyIsNamed() throws {
        try scratch.folder.write("{", to: file)
        try scratch.remember(1, for: file)
        #expect(cause { _ = try scratch.state.users[scratch.user].read() } == "corrupt")
        let copy = try #require(scratch.files.first { $0.hasPrefix("\(file).corrupt-") })
        let fresh = try Scratch.open(scratch.folder.path)
        for failure in [
            failure { _ = try fresh.users[scratch.user].read() }, failure { try update() },
        ] {
            #expect(failure?.cause == "missing")
            #expect(
                failure?.sentence.contains("set aside as \(scratch.folder.path)/\(copy)") == true)
        }
    }

    private func failure(_ work: () throws -> Void) -> Failure? {
        do {
            try work()
            return nil
        } catch { return error as? Failure }
    }

    @Test(
        "a lock that is busy for two seconds is worth another try, and readers do not wait for it")
    func busy() throws {
        try update()
        let lock = try FileDescriptor.open(scratch.lockPath(of: file), .update)
        #expect(try lock.tryLock())
        let before = scratch.folder.files()
        #expect(
            throws: Failure(
                .later(seconds: 2),
                "unable to lock \(scratch.lockPath(of: file)): busy for 2000 ms",
                cause: "busy")
        ) { try update() }
        var after = scratch.folder.files()
        // For `health`.
        #expect(after.removeValue(forKey: "set-aside.jsonl") != nil)
        #expect(after == before)
        #expect(try scratch.state.users[scratch.user].read()?.notices == 1)
        lock.unlock()
        try update()
    }

    @Test("no commit of several writers at once is lost")
    func writersAtOnce() async throws {
        let path = scratch.folder.path
        let name = scratch.user
        try update()
        let first = try scratch.revision(of: file)
        _ = try await atOnce(8) { _ in
            for _ in 0..<10 {
                try patiently { try Scratch.open(path).users[name].update { $0.notices += 1 } }
            }
        }
        #expect(try scratch.state.users[scratch.user].read()?.notices == 81)
        #expect(try scratch.revision(of: file) == first + 80)
    }

    @Test("a reader beside a writer sees every document whole")
    func readersBesideAWriter() async throws {
        let path = scratch.folder.path
        let name = scratch.user
        try update()
        let seen = try await atOnce(2) { number in
            try (0..<200).map { _ in
                let users = try Scratch.open(path).users
                if number == 0 { try patiently { try users[name].update { $0.notices += 1 } } }
                return try users[name].read()?.notices ?? 0
            }
        }
        for notices in seen {
            #expect(notices == notices.sorted())
            #expect(notices.allSatisfy { $0 > 0 })
        }
    }
}
