import Documents
import JSON
import Turnstone
import Unix

/// What filters need to know of all users, in 256 files of lines that are read much faster than a million
/// documents.
///
/// The users' documents are the truth. Before a document is committed, a tentative line is added; after it,
/// under the same lock, the final one. So a crash leaves a line too many, never one too few.
package struct AudienceIndex {
    let state: State

    private var folder: String { "\(state.folder)/audience" }
    private var statement: String { "\(folder)/index.json" }

    private func path(of user: UserID) -> String {
        "\(folder)/\(user.documentName.shard ?? "00").jsonl"
    }

    private static var shards: [String] { (0...255).map { hex([UInt8($0)]) } }

    /// A file is written anew when it has this many bytes more than twice its valid ones.
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
        try append(IndexLine.text(of: user, content, isTentative: true), to: path)
        try commit()
        // Without this line the tentative one stays valid beside those before it.
        do throws(Failure) {
            try append(IndexLine.text(of: user, content, isTentative: false), to: path)
        } catch {}
    }

    /// Adds a line, if the file exists: without one, no index has been made yet.
    private func append(_ line: [UInt8], to path: String) throws(Failure) {
        try changing(path) { (file) throws(SystemError) in
            let size = try file.size()
            // A killed program may have left half a line.
            let last = try size == 0 ? [] : file.read(upTo: 1, at: size - 1)
            let isWhole = last.isEmpty || last == [UInt8(ascii: "\n")]
            try file.write(isWhole ? line : [UInt8(ascii: "\n")] + line, at: size)
            return size - Self.slack > 2 * (try validSize(file))
                ? IndexShard(try Files.contents(path) ?? []).compacted() : nil
        }
    }

    /// The size that the file had when it was last written anew; its first line states it.
    private func validSize(_ file: FileDescriptor) throws(SystemError) -> Int {
        let line = try file.read(upTo: 32, at: 0).prefix { $0 != UInt8(ascii: "\n") }
        let digits = line.filter { (48...57).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// Runs `body` with a file that exists, while no other process writes to it.
    ///
    /// - Parameter body: returns the lines to write in place of all, or `nil`.
    private func changing(
        _ path: String, _ body: (FileDescriptor) throws(SystemError) -> [UInt8]?
    ) throws(Failure) {
        while true {
            var opened: FileDescriptor?
            do throws(SystemError) { opened = try FileDescriptor.open(path, .overwrite) } catch {
                guard [.noEntry, .notDirectory].contains(error.errno) else { throw error.failure }
            }
            guard let file = opened else { return }
            guard try systemCalls(file.lock(patience: .seconds(2))) else {
                throw Failure(
                    .later(seconds: 2), "unable to lock \(path): busy for 2000 ms", cause: "busy")
            }
            defer { file.unlock() }
            // Another process may have written it anew.
            guard try systemCalls(file.isStill(at: path)) else { continue }
            try systemCalls { () throws(SystemError) in
                guard let lines = try body(file) else { return }
                try Files.replace(path, with: head(lines.count) + lines, durably: false)
            }
            return
        }
    }

    private func head(_ size: Int) -> [UInt8] {
        JSON.text(["valid_bytes": .integer(Int64(size))]) + [UInt8(ascii: "\n")]
    }

    /// Removes all lines of a user.
    ///
    /// - Returns: whether there were any.
    func erase(_ user: UserID) throws(Failure) -> Bool {
        var isNamed = false
        let name = IndexLine.text(of: user, [:], isTentative: false).dropLast(2)
        let path = path(of: user)
        try changing(path) { (_) throws(SystemError) in
            let shard = IndexShard(try Files.contents(path) ?? [])
            let lines = shard.compacted { line in
                guard line.starts(with: name) else { return false }
                isNamed = true
                return true
            }
            return lines
        }
        return isNamed
    }

    // MARK: - Reading

    /// The files of the index, one after the other. ``prepare(_:)`` must have been called.
    package struct Reader {
        private let folder: String
        private var shards: ArraySlice<String>

        fileprivate init(_ folder: String) {
            self.folder = folder
            shards = AudienceIndex.shards[...]
        }

        package mutating func next() throws(Failure) -> IndexShard? {
            guard let shard = shards.popFirst() else { return nil }
            let bytes = try systemCalls(
                Files.contents("\(folder)/\(shard).jsonl", limit: 1 << 30))
            return IndexShard(bytes ?? [])
        }
    }

    package var reader: Reader { Reader(folder) }

    // MARK: - Making it

    /// Makes the index if there is none, or if it may lack lines: they are not synchronized with the disk, so
    /// a crash of the machine may have lost some, and a copy may be of another moment than the documents.
    ///
    /// - Parameter progress: gets how many of 256 parts are done.
    /// - Throws: later, if another process is making it.
    package func prepare(_ progress: (Int) -> Void) throws(Failure) {
        guard try !isValid() else { return }
        try Lock.holding(statement) { (_) throws(Failure) in
            guard try !isValid() else { return }
            try systemCalls(Files.makeFolder(folder))
            for (done, shard) in Self.shards.enumerated() {
                try make(shard)
                progress(done + 1)
            }
            try recordCompleteness()
        }
    }

    /// Makes the lines of one folder of `users/`. Lines that are right already stay.
    private func make(_ name: String) throws(Failure) {
        let path = "\(folder)/\(name).jsonl"
        let isThere = try systemCalls(Files.exists(path))
        if !isThere { try systemCalls(Files.replace(path, with: head(0), durably: false)) }
        let shard = IndexShard(try systemCalls(Files.contents(path, limit: 1 << 30)) ?? [])
        let known = shard.certainLines()
        var users = UserList(state, folder: name)
        while let user = try users.next() {
            do throws(Failure) {
                // Under its lock, so that no program is between the two lines of a commit.
                try state.users[user].holding { (document, _) throws(Failure) in
                    let content = IndexLine.content(of: document)
                    let line = IndexLine.text(of: user, content, isTentative: false)
                    if !shard.says(line, known) { try append(line, to: path) }
                }
            } catch {
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
            }
        }
        try changing(path) { (_) throws(SystemError) in
            IndexShard(try Files.contents(path, limit: 1 << 30) ?? []).compacted()
        }
    }

    /// Writes that the index has all lines. The statement is about this file only, and not about a copy.
    private func recordCompleteness() throws(Failure) {
        try systemCalls { () throws(SystemError) in
            let file = try Files.openTemporary(for: statement)
            let own = try file.identity()
            let members: JSONObject = [
                "version": 1, "boot": .string(try Self.boot()), "inode": .integer(own.inode),
                "made": .integer(own.birth),
            ]
            try file.write(JSON.text(.object(members)) + [UInt8(ascii: "\n")])
            try Files.rename(Files.temporary(for: statement), statement)
        }
    }

    private func isValid() throws(Failure) -> Bool {
        try systemCalls { () throws(SystemError) in
            let file: FileDescriptor
            do throws(SystemError) { file = try FileDescriptor.open(statement, .read) } catch {
                guard [.noEntry, .notDirectory].contains(error.errno) else { throw error }
                return false
            }
            let own = try file.identity()
            let text = try file.readToEnd(limit: 4096)
            let boot = try Self.boot()
            var members: JSONObject?
            do throws(JSONError) { members = try JSON.parse(text).object } catch {}
            return members?["version"]?.integer == 1 && members?["boot"]?.string == boot
                && members?["inode"]?.integer == own.inode
                && members?["made"]?.integer == own.birth
        }
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
