import Crypto
import JSON
import Turnstone
import Unix

/// The content of one kind of document. Members that it does not know must survive in it.
package protocol Document: Equatable {
    /// The newest format that this program writes and reads.
    static var version: Int64 { get }
    /// What an absent document counts as.
    init()
    /// - Returns: `nil` where a member has a type that the format does not allow.
    init?(_ members: JSONObject)
    var members: JSONObject { get }
}

/// All documents of one kind; where there are many, in 256 folders by the first byte of a SHA-256.
package struct Shelf<Content: Document> {
    package let folder: String
    /// Whether a commit must survive a power failure.
    private let durable: Bool
    /// Whether its documents can be made again: one that cannot be used counts as absent, and the next commit replaces
    /// it.
    private let isCache: Bool
    /// Whether a document that was committed and is gone counts as absent: what it said can be found out again.
    private let mayVanish: Bool

    init(
        folder: String, durable: Bool = true, isCache: Bool = false, mayVanish: Bool = false
    ) {
        self.folder = folder
        self.durable = durable
        self.isCache = isCache
        self.mayVanish = mayVanish
    }

    func path(_ name: DocumentName) -> String {
        guard let shard = name.shard else { return "\(folder)/\(name.file).json" }
        return "\(folder)/\(shard)/\(name.file).json"
    }

    /// The document as last committed, or `nil` where there is none. Takes no lock.
    package func read(_ name: DocumentName) throws(Failure) -> Content? {
        let path = path(name)
        if let known = try present(path) { return known }
        guard !isCache, !mayVanish, try Lock.committedRevision(of: path) > 0 else { return nil }
        // The first commit may have come since.
        guard let known = try present(path) else { throw missing(path) }
        return known
    }

    /// A document as it was read.
    package struct Snapshot {
        fileprivate let content: Content?
        fileprivate let path: String
        fileprivate let stamp: Files.Stamp
    }

    /// The document as last committed, which is read only if it is not the one that `known` holds.
    ///
    /// - Returns: a snapshot to ask with again; `nil` in its place where the document has just changed, and another
    ///   commit might look the same.
    package func read(
        _ name: DocumentName, unless known: Snapshot?
    ) throws(Failure) -> (content: Content?, snapshot: Snapshot?) {
        let path = path(name)
        var found: Files.Stamp?
        // What cannot be looked at is read, and says why it cannot.
        do throws(SystemError) { found = try Files.stamp(of: path) } catch {}
        guard let stamp = found else { return (try read(name), nil) }
        if let known, known.stamp == stamp, known.path == path { return (known.content, known) }
        let content = try read(name)
        // The clock of a file system ticks some hundred times a second.
        let changed = stamp.milliseconds
        guard changed < Timestamp.systemNow.milliseconds - 100 else { return (content, nil) }
        return (content, Snapshot(content: content, path: path, stamp: stamp))
    }

    /// Tells the document as it is from later ones, if it has been so for a second: a file system's clock is coarse,
    /// and a commit may follow that looks the same. Take it before you read. C: `stat(2)`.
    package func stamp(of name: DocumentName) -> Int64? {
        var found: Files.Stamp?
        // What cannot be looked at is read, and says why it cannot.
        do throws(SystemError) { found = try Files.stamp(of: path(name)) } catch { return nil }
        guard let stamp = found else { return nil }
        guard stamp.seconds < Timestamp.systemNow.seconds - 1 else { return nil }
        return stamp.sum
    }

    /// A document's bytes; none for one of a length that no document has, and `nil` for a cache's that cannot be read.
    private func bytes(at path: String) throws(Failure) -> [UInt8]? {
        do throws(SystemError) { return try Files.contents(path) } catch {
            // (Of open(2) it says something else: that it cannot be opened.)
            if error.errno == .tooLarge, error.call == "read" { return [] }
            guard isCache, error.errno.isOfTheFile || error.errno == .inputOutput else {
                throw error.failure
            }
            return nil
        }
    }

    private func present(_ path: String) throws(Failure) -> Content? {
        let bytes = try bytes(at: path)
        guard let bytes else { return nil }
        guard !isCache else { return cached(bytes, path)?.content }
        guard let stored = try Stored<Content>(bytes, path) else { throw try setAside(path) }
        return stored.content
    }

    /// Replaces the document with what `change` makes of it, or leaves it as it was where `change`
    /// changes nothing or throws.
    ///
    /// - Parameter change: Runs once, with the lock held: no network, no second update of this document.
    /// - Returns: Whatever `change` returns.
    /// - Throws: `busy` after two seconds without the lock; `stale` where the file system keeps showing
    ///   an older document than was committed; `newer` for a format this program does not know.
    ///
    /// The instant of commit is the `rename`. Readers never wait. C: `flock(2)`, `rename(2)`.
    @discardableResult
    package func update<Result>(
        _ name: DocumentName, _ change: (inout Content) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holding(name) { (known, commit) throws(Failure) in
            var content = known
            let result = try change(&content)
            try commit(content)
            return result
        }
    }

    /// Holds the document's lock for as long as `body` runs, which may commit it several times: no network, and
    /// other documents only in the order that FORMAT.md names.
    func holding<Result>(
        _ name: DocumentName,
        _ body: (
            _ known: Content, _ commit: (Content) throws(Failure) -> Void
        ) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let path = path(name)
        if isCache { clear(path) }
        return try Lock.holding(path) { (lock) throws(Failure) in
            var stored = try current(path, committed: lock.committedRevision())
            return try body(stored.content) { (content) throws(Failure) in
                guard content != stored.content else { return }
                let next = Stored(content: content, revision: stored.revision.saturatingAdd(1))
                let text = try next.checkedText()
                try systemCalls { () throws(SystemError) in
                    try Files.replace(path, with: text, durably: durable)
                }
                lock.remember(next.revision)
                stored = next
            }
        }
    }

    /// Removes what is in the way of a cache's document and its lock and is no file of ours, such as a FIFO, a folder or
    /// another account's file.
    private func clear(_ path: String) {
        removeIfUnusable(path)
        removeIfUnusable("\(path).lock")
    }

    /// Removes a document's lock that nobody of this account can take. Only whoever holds the election does so: of two
    /// at once, one could remove what the other has just made.
    func clearLock(of name: DocumentName) { removeIfUnusable("\(path(name)).lock") }

    private func removeIfUnusable(_ path: String) {
        do throws(SystemError) { _ = try FileDescriptor.open(path, .overwrite) } catch {
            guard error.errno.isOfTheFile, !Files.remove(path) else { return }
            _ = Files.removeAll(path)
        }
    }

    /// The document of a name, where another lock than its own guards it.
    func readAlone(_ name: String) throws(Failure) -> Content? {
        let path = "\(folder)/\(name).json"
        let bytes = try bytes(at: path)
        guard let bytes else { return nil }
        guard let stored = try Stored<Content>(bytes, path) else { throw setAsideLocked(path) }
        return stored.content
    }

    /// Writes the document of a name, where the caller holds another lock than its own.
    func writeAlone(_ content: Content, _ name: String) throws(Failure) {
        let path = "\(folder)/\(name).json"
        try systemCalls { () throws(SystemError) in try Files.makeFolder(folder) }
        let bytes = try bytes(at: path)
        let revision = try bytes.flatMap { (bytes) throws(Failure) in
            try Stored<Content>(bytes, path)?.revision
        }
        let next = Stored(content: content, revision: (revision ?? 0).saturatingAdd(1))
        let text = try next.checkedText()
        try systemCalls { () throws(SystemError) in
            try Files.replace(path, with: text, durably: durable)
        }
    }

    /// Every document's file name without its ending, in no order.
    ///
    /// - Parameter unlisted: gets each folder that cannot be listed; the names in the others follow all the same.
    package func forEachName(
        unlisted: (Failure) -> Void, _ body: (String) throws(Failure) -> Void
    ) throws(Failure) {
        for shard in try names(in: folder) {
            var names: [String] = []
            do throws(Failure) { names = try self.names(in: "\(folder)/\(shard)") } catch {
                guard error.isOfOneFile else { throw error }
                unlisted(error)
            }
            for name in names {
                guard name.utf8.count > 5, name.utf8.suffix(5).elementsEqual(".json".utf8) else {
                    continue
                }
                try body(String(decoding: name.utf8.dropLast(5), as: UTF8.self))
            }
        }
    }

    /// What tells whether a document was committed since: a folder changes with each name in it.
    func folderStamps() throws(Failure) -> [(changed: Int64, sign: Int64)] {
        let folders = try names(in: folder).sorted()
        var stamps: [(changed: Int64, sign: Int64)] = []
        for shard in folders {
            var found: Files.Stamp?
            do throws(SystemError) { found = try Files.stamp(of: "\(folder)/\(shard)") } catch {
                // `health` names it.
                guard error.errno.isOfTheFile else { throw error.failure }
            }
            guard let stamp = found else { continue }
            stamps.append(
                (
                    changed: stamp.milliseconds,
                    sign: stamp.sum
                ))
        }
        return stamps
    }

    /// When a document was last written, in milliseconds since 1970 by the file system's clock.
    func changed(_ name: DocumentName) throws(Failure) -> Int64? {
        try systemCalls { () throws(SystemError) in
            try Files.stamp(of: path(name))?.milliseconds
        }
    }

    private func names(in folder: String) throws(Failure) -> [String] {
        try systemCalls { () throws(SystemError) in
            do throws(SystemError) { return try Files.names(in: folder) } catch {
                guard error.errno == .notDirectory else { throw error }
                return []
            }
        }
    }

    private func cached(_ bytes: [UInt8], _ path: String) -> Stored<Content>? {
        do throws(Failure) { return try Stored<Content>(bytes, path) } catch { return nil }
    }

    /// A cache's document under its lock; an older one than was committed is good enough to be replaced.
    private func currentCached(_ path: String, committed: Int64) throws(Failure) -> Stored<Content>
    {
        let bytes = try bytes(at: path)
        let stored = bytes.flatMap { cached($0, path) }
        return Stored(
            content: stored?.content ?? Content(), revision: max(stored?.revision ?? 0, committed))
    }

    /// The document under its lock. A cluster file system may show an older one for a while.
    private func current(_ path: String, committed: Int64) throws(Failure) -> Stored<Content> {
        guard !isCache else { return try currentCached(path, committed: committed) }
        let start = MonotonicClock.milliseconds
        while true {
            let bytes = try bytes(at: path)
            if let bytes {
                guard let stored = try Stored<Content>(bytes, path) else {
                    throw setAsideLocked(path)
                }
                if stored.revision >= committed { return stored }
            } else if committed == 0 || mayVanish {
                return Stored(content: Content(), revision: committed)
            } else if try isSetAside(path) {
                throw missing(path)
            }
            guard MonotonicClock.milliseconds - start < 3000 else {
                throw Failure(
                    .later(seconds: 5),
                    "unable to read \(path): a revision older than \(committed)",
                    cause: "stale")
            }
            MonotonicClock.sleep(milliseconds: 50)
        }
    }

    /// Moves a document that does not parse out of the way, unless somebody has mended it meanwhile.
    private func setAside(_ path: String) throws(Failure) -> Failure {
        try Lock.holding(path) { (_) throws(Failure) in
            let bytes = try bytes(at: path)
            guard let bytes, try Stored<Content>(bytes, path) == nil else { return missing(path) }
            return setAsideLocked(path)
        }
    }

    private func setAsideLocked(_ path: String) -> Failure {
        let copy = "\(path).corrupt-\(Timestamp.systemNow.milliseconds)"
        do throws(SystemError) {
            try Files.rename(path, copy)
            try Files.synchronizeFolder(of: path)
        } catch {
            return Failure(
                .broken,
                "unable to read \(path): it is damaged, and cannot be set aside (\(error.errno.name))",
                cause: "corrupt", file: path)
        }
        UnusableFiles.note(copy, nil)
        return Failure(
            .broken, "unable to read \(path): it is damaged and was set aside as \(copy)",
            cause: "corrupt")
    }

    private func isSetAside(_ path: String) throws(Failure) -> Bool {
        let prefix = Files.name(of: path) + ".corrupt-"
        return try names(in: Files.parent(of: path)).contains { $0.utf8.starts(with: prefix.utf8) }
    }

    private func missing(_ path: String) -> Failure {
        Failure(
            .broken, "unable to read \(path): it was committed and is gone; restore it",
            cause: "missing", file: path)
    }
}

/// A document's name within its shelf.
package struct DocumentName {
    let file: String
    /// Two hex digits of a SHA-256 that belongs to the name; `nil` where a shelf has few documents.
    let shard: String?

    package init(_ user: UserID) {
        let name = user.fileName
        // `NAME.json.lock` has to fit into 255 bytes. No other name has `==` in it.
        file =
            name.utf8.count <= 245 ? name : "==\(hex(SHA256.hash(Array(user.text.utf8))))"
        shard = hex(SHA256.hash(Array(user.text.utf8)).prefix(1))
    }

    package init(_ token: DeviceToken) {
        self.init(hashOf: token.text)
    }

    package init(_ channel: ChannelID) {
        self.init(hashOf: channel.text)
    }

    /// - Parameter text: of any length and kind.
    init(hashOf text: String) {
        self.init(hash: hex(SHA256.hash(Array(text.utf8))))
    }

    /// - Parameter single: letters, digits and `-`, for one of a few documents.
    package init(single: String) {
        file = single
        shard = nil
    }

    /// - Parameter hash: a SHA-256 in hex, which is the name itself.
    package init(hash: String) {
        file = hash
        shard = firstDigits(2, of: hash)
    }
}

/// A document with what every document has.
struct Stored<Content: Document> {
    let content: Content
    let revision: Int64

    init(content: Content, revision: Int64) {
        self.content = content
        self.revision = revision
    }

    /// - Returns: `nil` where the bytes are no document.
    /// - Throws: `newer` for a format that this program does not know.
    init?(_ bytes: [UInt8], _ path: String) throws(Failure) {
        let members: JSONObject?
        do throws(JSONError) {
            members = try JSON.parse(bytes, depthLimit: JSON.storedDepthLimit).object
        } catch { return nil }
        guard let members, let version = members["version"]?.integer,
            let revision = members["revision"]?.integer, revision > 0
        else { return nil }
        guard version <= Content.version else {
            throw Failure(
                .broken, "unable to use \(path): its version \(version) is newer than this program",
                cause: "newer", file: path)
        }
        var rest = members
        rest["version"] = nil
        rest["revision"] = nil
        guard let content = Content(rest) else { return nil }
        self.content = content
        self.revision = revision
    }

    /// - Throws: where no program could read it again.
    func checkedText() throws(Failure) -> [UInt8] {
        let text = text
        guard text.count <= Files.longest else {
            throw .refused(.tooLarge, "what is stored of this would exceed 16 MiB")
        }
        return text
    }

    private var text: [UInt8] {
        var all: JSONObject = [
            "version": .integer(Content.version), "revision": .integer(revision),
        ]
        for member in content.members.members { all.append(member.name, member.value) }
        return JSON.text(.object(all)) + [UInt8(ascii: "\n")]
    }
}

extension Files.Stamp {
    /// FNV-1a over whole words, in 59 bits: such a number is quick to read.
    fileprivate var sum: Int64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ word: Int64) {
            sum = (sum ^ UInt64(bitPattern: word)) &* 0x100_0000_01b3
            sum ^= sum >> 29
        }
        add(inode)
        add(size)
        add(seconds)
        add(nanoseconds)
        return Int64(sum >> 5)
    }

    fileprivate var milliseconds: Int64 {
        seconds.saturatingMultiply(1000).saturatingAdd(nanoseconds / 1_000_000)
    }
}
