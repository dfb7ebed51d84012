import Documents
import JSON
import Turnstone
import Unix

/// The facts about all users that filters need, in 256 files of lines that are read much faster than a
/// million documents.
///
/// The users' documents are the truth. Before a document is committed, a tentative line is added; after it,
/// under the same lock, the final one. So a crash leaves a line too many, never one too few.
package struct AudienceIndex {
    let state: State

    private var folder: String { "\(state.folder)/audience" }
    private var statementPath: String { "\(folder)/index.json" }

    private func path(of user: UserID) -> String {
        "\(folder)/\(user.documentName.shard ?? "00").jsonl"
    }

    /// How many files the index has, as the users' documents have folders.
    private static let parts = 256

    private static func name(ofPart part: Int) -> String { hex([UInt8(part)]) }

    /// A file is rewritten when it has this many bytes more than twice its valid ones.
    private static let slack = 1 << 20

    // MARK: - Writing

    /// Commits a change of a user's document, with its lines before and after it.
    func recording(
        _ user: UserID, _ before: User, _ after: User, _ commit: () throws(Failure) -> Void
    ) throws(Failure) {
        guard before.profile != after.profile || before.devices != after.devices else {
            return try commit()
        }
        let content = IndexLine.content(of: after)
        guard content != IndexLine.content(of: before) else { return try commit() }
        let path = path(of: user)
        do throws(Failure) {
            try append(IndexLine.text(of: user, content, isTentative: true), to: path)
        } catch {
            // The index can be rebuilt, so drop it rather than fail the commit.
            guard error.isFileSpecific else { throw error }
            guard removeStatement() || hasNoStatement else { throw unusable(error) }
            error.recordFile()
        }
        try commit()
        // Without this line the tentative one stays valid beside those before it.
        do throws(Failure) {
            try append(IndexLine.text(of: user, content, isTentative: false), to: path)
        } catch {}
    }

    /// The most bytes of a file that are read.
    private static let longest = 1 << 30

    /// Adds a line, if the file exists: without one, no index has been made yet.
    private func append(_ line: [UInt8], to path: String) throws(Failure) {
        try changing(path) { (file) throws(Failure) in
            let isLong = try systemCalls { () throws(SystemError) in
                let size = try write(IndexLine.summed(line), to: file)
                let head = try file.read(upTo: 32, at: 0)
                return size - Self.slack > 2 * IndexShard.validSize(head)
            }
            guard isLong else { return }
            // The line is there already: a disk that is too full for two files refuses no commit.
            do throws(SystemError) {
                let shard = try contents(path)
                guard shard.isSound else {
                    // Written anew it would have a right sum, and the damage would never be noticed.
                    if removeStatement() { Files.remove(path) }
                    return
                }
                try rewrite(path, shard.compacted { isLeftOver($0) }, durably: false)
            } catch {}
        }
    }

    /// Adds whole lines to a file that is locked.
    ///
    /// - Returns: the size before.
    @discardableResult
    private func write(_ lines: [UInt8], to file: FileDescriptor) throws(SystemError) -> Int {
        // A killed program or a full disk may have left half a line: no commit followed it.
        let size = try endOfLines(file)
        if try file.size() > size { try file.truncate(to: size) }
        try file.write(lines, at: size)
        return size
    }

    /// Where the last whole line ends.
    private func endOfLines(_ file: FileDescriptor) throws(SystemError) -> Int {
        var end = try file.size()
        var length = 1
        while end > 0 {
            let start = max(0, end - length)
            let bytes = try file.read(upTo: end - start, at: start)
            if let newline = bytes.lastIndex(of: UInt8(ascii: "\n")) { return start + newline + 1 }
            end = start
            length = 1 << 16
        }
        return 0
    }

    private func contents(_ path: String) throws(SystemError) -> IndexShard {
        IndexShard(try Files.contents(path, limit: Self.longest) ?? [])
    }

    /// Runs `body` with a file that exists, while no other process writes to it.
    ///
    /// - Returns: whether the file exists.
    @discardableResult
    private func changing(
        _ path: String, _ body: (FileDescriptor) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        while true {
            var opened: FileDescriptor?
            do throws(SystemError) { opened = try FileDescriptor.open(path, .overwrite) } catch {
                guard [.noEntry, .notDirectory].contains(error.errno) else { throw error.failure }
            }
            guard let file = opened else { return false }
            guard try systemCalls(file.lock(patience: .seconds(2))) else {
                UnusableFiles.record(path, FailureCause.busy)
                throw Failure(
                    .later(seconds: 2), "unable to lock \(path): busy for 2000 ms",
                    cause: FailureCause.busy)
            }
            defer { file.unlock() }
            // Another process may have written it anew.
            guard try systemCalls(file.isStill(at: path)) else { continue }
            try body(file)
            try systemCalls(file.publish())
            return true
        }
    }

    /// Writes a file anew. It must be locked.
    private func rewrite(
        _ path: String, _ lines: [UInt8], durably: Bool
    ) throws(SystemError) {
        try Files.replace(path, with: IndexShard.head(lines) + lines, durably: durably)
    }

    /// Removes all lines of a user, durably: the name does not come back after a loss of power.
    ///
    /// - Parameter document: of a user who has come back, whose present line stays. It must be locked.
    /// - Returns: whether there were any.
    func erase(_ user: UserID, keeping document: User? = nil) throws(Failure) -> Bool {
        let name = IndexLine.text(of: user, [:], isTentative: false).dropLast(2)
        let path = path(of: user)
        var isNamed = false
        try changing(path) { (_) throws(Failure) in
            try systemCalls { () throws(SystemError) in
                let shard = try contents(path)
                guard shard.isSound else {
                    guard removeStatement() else {
                        throw SystemError("remove", statementPath, .noAccess)
                    }
                    isNamed = try Files.contains(Array(name), in: path)
                    try Files.erase(path)
                    try Files.synchronizeFolder(of: path)
                    return
                }
                let lines = shard.compacted { line in
                    guard line.starts(with: name) else { return false }
                    isNamed = true
                    return true
                }
                // An old line, which another one has replaced, names the user too.
                if !isNamed { isNamed = try Files.contains(Array(name), in: path) }
                let present = document.map {
                    IndexLine.text(of: user, IndexLine.content(of: $0), isTentative: false)
                }
                if isNamed { try rewrite(path, lines + (present ?? []), durably: true) }
            }
        }
        return isNamed
    }

    // MARK: - Reading

    /// The files of the index, one after the other. ``prepare(within:_:)`` must have been called.
    package struct Reader {
        private let index: AudienceIndex
        /// How many files were read.
        private var done = 0
        /// The last file.
        private var path = ""
        /// Users whose documents could not be read when the index was made: they may have no lines, or old
        /// ones.
        package let unread: [UserID]

        fileprivate init(_ index: AudienceIndex) throws(Failure) {
            self.index = index
            unread = try index.statement()?.unread ?? []
        }

        /// - Throws: later, if the file is missing or damaged. The index is then made again.
        package mutating func next() throws(Failure) -> IndexShard? {
            guard done < AudienceIndex.parts else { return nil }
            path = "\(index.folder)/\(AudienceIndex.name(ofPart: done)).jsonl"
            done += 1
            let shard: IndexShard
            do throws(SystemError) { shard = try index.contents(path) } catch {
                throw index.givenUp(path, error)
            }
            guard shard.isSound else { throw damaged() }
            return shard
        }

        /// Has the index made again because of the last file.
        package func damaged() -> Failure {
            index.removeStatement()
            return index.givenUp(path, "it is damaged or missing")
        }
    }

    /// - Throws: if it cannot be read.
    package func reader() throws(Failure) -> Reader { try Reader(self) }

    // MARK: - Making it

    /// The longest time that a request spends on making the index. Hosts give up after 30 s: the sender would
    /// get a 504 and repeat the message, and both would be sent.
    package static let longestMaking = Interval.seconds(10)

    /// Makes the index if there is none, or if it may lack lines: they are not synchronized with the disk, so
    /// a crash of the machine may have lost some, and a copy may be of another moment than the documents.
    ///
    /// - Parameters:
    ///   - longest: after this time it stops. The next call goes on from there.
    ///   - progress: gets how many of 256 parts are done.
    /// - Throws: later, if there is more to do, or if another process is making it.
    package func prepare(
        within longest: Interval = longestMaking, _ progress: (Int) -> Void
    ) throws(Failure) {
        guard try statement()?.isComplete != true else { return }
        do throws(Failure) { try make(within: longest, progress) } catch {
            // Somebody has removed the folder meanwhile.
            guard [Errno.noEntry.name, Errno.notDirectory.name].contains(error.cause) else {
                throw error
            }
            throw Failure(
                .later(seconds: 1), "\(error.sentence); send the request again", cause: Self.cause)
        }
    }

    private func make(
        within longest: Interval, _ progress: (Int) -> Void
    ) throws(Failure) {
        clear()
        clear("\(statementPath).lock")
        let began = Instant.now
        try Lock.holding(statementPath) { (_) throws(Failure) in
            try systemCalls(Files.makeFolder(folder))
            var isFirst = true
            while true {
                let known = try statement(.overwrite)
                var statement = if let known { known } else { try begin() }
                guard !statement.isComplete else { return }
                guard isFirst || Instant.now - began < longest else {
                    throw Failure(
                        .later(seconds: 1),
                        "the index of all users is being made: \(statement.parts) of \(Self.parts) parts are done; send the request again",
                        cause: Self.cause)
                }
                isFirst = false
                try make(Self.name(ofPart: statement.parts), &statement.unread)
                // A change that could not add its line has removed it: all parts are made again.
                guard try self.statement() != nil else { continue }
                statement.parts += 1
                try systemCalls { () throws(SystemError) in
                    try statement.file.write(text(of: statement), at: 0)
                }
                progress(statement.parts)
            }
        }
    }

    /// The cause of failures that end once the index is made.
    private static let cause = "index"

    /// Removes a file that is in place of the folder.
    private func clear() {
        do throws(SystemError) { _ = try FileDescriptor.open(statementPath, .read) } catch {
            if error.errno == .notDirectory { Files.remove(folder) }
        }
    }

    /// Removes what is in place of one of the files and is no file that can be used.
    private func clear(_ path: String) {
        do throws(SystemError) { _ = try contents(path) } catch {
            guard error.errno.isFileSpecific, !Files.remove(path) else { return }
            _ = Files.removeAll(path)
        }
    }

    /// The lines of one folder of `users/` that are there already. Without a file, or if it is damaged, a new
    /// one begins.
    private func begun(_ name: String, at path: String) throws(Failure) -> IndexShard {
        clear(path)
        let shard = try systemCalls(contents(path))
        guard !shard.isSound else { return shard }
        let isThere = try changing(path) { (_) throws(Failure) in
            try systemCalls(rewrite(path, [], durably: false))
        }
        if !isThere {
            try systemCalls(Files.replace(path, with: IndexShard.head([]), durably: false))
        }
        // A commit that began before has no tentative line in this file. If it is of a new document, which is
        // not listed yet, and its program is killed before the final line, nothing else would name the user.
        state.users.awaitHolders(ofDocumentsIn: name, upTo: Self.patience)
        return try systemCalls(contents(path))
    }

    /// Makes the lines of one folder of `users/`. Lines of a sound file that are right already stay.
    ///
    /// - Parameter unread: gets the users whose documents cannot be read.
    private func make(_ name: String, _ unread: inout [UserID]) throws(Failure) {
        let path = "\(folder)/\(name).jsonl"
        let shard = try begun(name, at: path)
        let known = shard.certainLines()
        var users = UserList(state, folder: name)
        var all: [UserID] = []
        while let user = try users.next() { all.append(user) }
        let seen = Set(all)
        var patience = Self.patience
        var groups = state.users.groups(of: all)[...]
        while !groups.isEmpty {
            var others: [UserID] = []
            let isThere = try changing(path) { (file) throws(Failure) in
                let lines = try self.lines(of: &groups, known, in: shard, others: &others)
                guard !lines.isEmpty else { return }
                _ = try systemCalls(write(lines, to: file))
            }
            guard isThere else { break }  // readers notice that the file is gone
            for user in others {
                try Lock.waiting(upTo: patience, recording: patience == Self.patience) {
                    () throws(Failure) in
                    try add(user, to: path, known, in: shard, &unread, &patience)
                }
            }
            // A change that waits looks for the lock every 20 ms.
            if !groups.isEmpty { sleep(for: .milliseconds(25)) }
        }
        try changing(path) { (_) throws(Failure) in
            try systemCalls { () throws(SystemError) in
                let lines = try contents(path).compacted { isOfNobody($0, besides: seen) }
                try rewrite(path, lines, durably: false)
            }
        }
    }

    /// Makes the lines of the next users that are missing. The file is locked: a change that begins meanwhile
    /// adds its lines after these.
    ///
    /// - Parameters:
    ///   - groups: of users whose documents share a lock file. Those that are done are removed.
    ///   - known: the certain lines of `shard`.
    ///   - others: gets the users whose documents are being changed or cannot be read.
    private func lines(
        of groups: inout ArraySlice<[UserID]>, _ known: [ArraySlice<UInt8>: Range<Int>],
        in shard: IndexShard, others: inout [UserID]
    ) throws(Failure) -> [UInt8] {
        var lines: [UInt8] = []
        let began = Instant.now
        // Changes wait for the file's lock, two seconds at most.
        while Instant.now - began < .milliseconds(500), let group = groups.popFirst() {
            try state.users.readIfIdle(group) { (user, found) throws(Failure) in
                guard let found else { return others.append(user) }
                let line = IndexLine.text(
                    of: user, IndexLine.content(of: found), isTentative: false)
                if !shard.says(line, known) { lines += IndexLine.summed(line) }
            }
        }
        return lines
    }

    /// How long to wait for a user's lock. A program that hangs may hold those of thousands of users: then only
    /// the first one of a part is waited for.
    private static let patience = Interval.seconds(2)

    /// Adds the line of one user, after a change that is under way.
    ///
    /// - Parameters:
    ///   - unread: gets the user, if the document cannot be read or stays locked. It is looked up for each
    ///     message then.
    ///   - patience: becomes short if the document stays locked.
    private func add(
        _ user: UserID, to path: String, _ known: [ArraySlice<UInt8>: Range<Int>],
        in shard: IndexShard, _ unread: inout [UserID], _ patience: inout Interval
    ) throws(Failure) {
        do throws(Failure) {
            // Under its lock, so that no program is between the two lines of a commit.
            try state.users[user].holding { (document, _) throws(Failure) in
                let content = IndexLine.content(of: document)
                let line = IndexLine.text(of: user, content, isTentative: false)
                if !shard.says(line, known) { try append(line, to: path) }
            }
        } catch {
            let isBusy = error.cause == FailureCause.busy
            guard error.isDocumentSpecific || isBusy else { throw error }
            if isBusy { patience = .milliseconds(50) } else { error.recordFile() }
            unread.append(user)
        }
    }

    /// Whether a line is tentative, of a user who has no document, and no program is making one: it was killed
    /// before that. The file is locked, and other programs wait for it with their documents' locks, so none is
    /// waited for here.
    private func isLeftOver(_ line: ArraySlice<UInt8>) -> Bool {
        let line = Array(line)
        guard let end = IndexLine.endOfUser(in: line.span, line.indices),
            IndexLine.isTentative(in: line.span, line.indices, after: end),
            let user = IndexLine.name(Array(line[..<end]))
        else { return false }
        do throws(Failure) { return try state.users[user].isAbsent() } catch { return false }
    }

    /// Whether a line is damaged, or of a user who has no document, as after an erasure whose end a crash has
    /// lost. A tentative line comes before its document.
    private func isOfNobody(_ line: ArraySlice<UInt8>, besides seen: Set<UserID>) -> Bool {
        guard IndexLine.isLine(line) else { return true }
        let line = Array(line)
        guard let end = IndexLine.endOfUser(in: line.span, line.indices),
            let user = IndexLine.name(Array(line[..<end]))
        else { return true }
        guard !seen.contains(user) else { return false }
        guard !IndexLine.isTentative(in: line.span, line.indices, after: end) else {
            return isLeftOver(line[...])
        }
        do throws(Failure) { return try state.users[user].read() == nil } catch { return false }
    }

    /// What `index.json` says about the files of lines.
    private struct Statement {
        /// How many of the files, in their order, have all lines.
        var parts = 0
        /// The users in these files whose documents could not be read.
        var unread: [UserID] = []
        /// It is changed in place, so that one which was removed meanwhile does not come back.
        let file: FileDescriptor

        var isComplete: Bool { parts == AudienceIndex.parts }
    }

    /// Writes a statement that no file has all lines.
    private func begin() throws(Failure) -> Statement {
        try systemCalls { () throws(SystemError) in
            let statement = Statement(file: try Files.openTemporary(for: statementPath))
            try statement.file.write(text(of: statement))
            try Files.rename(Files.temporary(for: statementPath), statementPath)
            return statement
        }
    }

    /// How much of the index has all lines. The statement is about its own file only, and not about a copy.
    private func text(of statement: Statement) throws(SystemError) -> [UInt8] {
        let own = try statement.file.identity()
        var members: JSONObject = [
            "version": .integer(Self.version), "boot": .string(try Self.boot()),
            "inode": .integer(own.inode), "made": .integer(own.birth),
        ]
        let unread = statement.unread
        members["unread"] = unread.isEmpty ? nil : JSONValue(texts: unread.map { $0.text })
        members["parts"] = .integer(Int64(statement.parts))
        return JSON.text(.object(members)) + [UInt8(ascii: "\n")]
    }

    /// The version of the index. An index of another version is made again.
    private static let version: Int64 = 2

    /// Reads the statement; `nil` if lines may be missing in any file.
    ///
    /// - Throws: later, if something else is in the file's place. It is removed, and the index is made again.
    private func statement(
        _ mode: FileDescriptor.Mode = .read
    ) throws(Failure) -> Statement? {
        do throws(SystemError) { return try readStatement(mode) } catch {
            throw givenUp(statementPath, error)
        }
    }

    private func readStatement(
        _ mode: FileDescriptor.Mode
    ) throws(SystemError) -> Statement? {
        let file: FileDescriptor
        do throws(SystemError) { file = try FileDescriptor.open(statementPath, mode) } catch {
            guard [.noEntry, .notDirectory].contains(error.errno) else { throw error }
            return nil
        }
        let own = try file.identity()
        let text = try file.readToEnd(limit: Files.longest)
        let boot = try Self.boot()
        var members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(text).object } catch {}
        guard let members, members["version"]?.integer == Self.version,
            members["boot"]?.string == boot,
            members["inode"]?.integer == own.inode, members["made"]?.integer == own.birth,
            let parts = members["parts"]?.integer, (0...Int64(Self.parts)).contains(parts)
        else { return nil }
        let unread = (members["unread"]?.texts ?? []).compactMap { UserID($0) }
        return Statement(parts: Int(parts), unread: unread, file: file)
    }

    /// Removes the statement, or what is in its place: lines may be missing.
    ///
    /// - Returns: whether it is gone.
    @discardableResult
    private func removeStatement() -> Bool {
        Files.remove(statementPath) || Files.removeAll(statementPath)
    }

    private var hasNoStatement: Bool {
        do throws(SystemError) { return try !Files.exists(statementPath) } catch { return false }
    }

    /// The failure if a file cannot be read. The index is made again, if it only concerns the index.
    private func givenUp(_ path: String, _ error: SystemError) -> Failure {
        guard error.errno.concernsOneFile else { return error.failure }
        return removeStatement() ? givenUp(path, error.reason) : unusable(error.failure)
    }

    /// The failure if the index cannot be used, and cannot be given up either: its folder is another
    /// account's. The same request succeeds once somebody has repaired that, so it is refused for now.
    private func unusable(_ error: Failure) -> Failure {
        error.recordFile()
        return Failure(.later(seconds: 5), error.sentence, cause: error.cause, file: error.file)
    }

    private func givenUp(_ path: String, _ reason: String) -> Failure {
        Failure(
            .later(seconds: 1),
            "unable to read \(path): \(reason); it is made again from the users' documents",
            cause: Self.cause)
    }

    /// Identifies the time since the machine was started. Linux: `random(4)`.
    private static func boot() throws(SystemError) -> String {
        let text = try Files.contents("/proc/sys/kernel/random/boot_id") ?? []
        return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

extension State {
    package var audience: AudienceIndex { AudienceIndex(state: self) }
}
