import Turnstone
import Unix

/// One document on a shelf, which may not exist.
package struct StoredDocument<Content: Document> {
    package let path: String
    private let name: DocumentName
    let options: ShelfOptions
    /// Runs each commit, if something has to be written before and after it.
    var recording:
        (
            (Content, Content, _ commit: () throws(Failure) -> Void) throws(Failure) -> Void
        )?
    /// Takes out of a document that may be a copy of any age what has become another's since.
    var checkingCopy: ((Content) throws(Failure) -> Content)?

    init(path: String, _ name: DocumentName, options: ShelfOptions) {
        self.path = path
        self.name = name
        self.options = options
    }

    /// Where its lock is.
    package var lock: LockPlace {
        guard let lock = name.lock else { return LockPlace(of: path) }
        let shelf = Files.parent(of: Files.parent(of: path))
        return LockPlace(
            of: path, lock, in: LockPlace.folder(ofShelf: shelf), ownLocks: options.ownLocks)
    }

    /// Reads the last committed content; `nil` if there is none. Takes no lock, except to make sure that a document
    /// is missing on a file system that machines share.
    ///
    /// - Throws: `stale` if an older document than the committed one is in its place, or the file system keeps
    ///   showing one. Where the document may vanish, an older one will do, too.
    package func read() throws(Failure) -> Content? {
        let mayBeAny = options.isCache || options.mayVanish
        var patience = Patience()
        var looks = 0
        while true {
            // Before the document: a commit stores its number last.
            let committed = mayBeAny ? 0 : try Lock.numberIfReadable(at: lock)
            guard let known = try present() else {
                guard !mayBeAny, try Lock.committedRevision(at: lock) > 0 else { return nil }
                // The first commit may have happened since. On some network file systems, a file that is
                // replaced while it is opened seems to be missing.
                if patience.wait() { continue }
                guard options.isLocal else { return try readLocked() }
                throw missing
            }
            let isNewest = committed > 0 && known.revision >= committed
            if mayBeAny || isNewest && checkingCopy == nil { return known.content }
            let isNumbered = committed > 0 ? try !Lock.isEmptied(lock) : false
            guard isNumbered else {
                let content = try checked(known.content)
                guard content != known.content else { return content }
                // A commit may have replaced meanwhile what was left out.
                guard try Lock.numberIfReadable(at: lock) == committed else { continue }
                return content
            }
            if known.revision >= committed { return known.content }
            // The document may have been removed since, and begun anew. Where no other machine can change it,
            // more looks would only keep the caller waiting.
            looks += 1
            guard looks < 3 || !options.isLocal, patience.wait() else {
                throw stale(known.revision, committed)
            }
        }
    }

    /// Reads the content with the lock held, so that nobody is replacing it meanwhile; `nil` if there is none.
    private func readLocked() throws(Failure) -> Content? {
        let stored = try whenShown { (start) throws(Failure) in
            try Lock.holding(lock) { (lock) throws(Failure) in try current(lock, since: start) }
        }
        guard stored.revision > 0 else { return nil }
        return stored.isNumbered ? stored.content : try checked(stored.content)
    }

    /// Reads the last committed content; `nil` if there is none, or it is damaged or older. Takes no lock, waits
    /// for nothing and sets nothing aside.
    ///
    /// - Returns: the content, and whether the lock has a number for it. If not, it may be a copy of any age.
    package func glance() throws(Failure) -> (content: Content, isNumbered: Bool)? {
        let committed = try Lock.numberIfReadable(at: lock)
        let isNumbered = committed > 0 ? try !Lock.isEmptied(lock) : false
        let bytes = try bytes()
        guard let bytes, let stored = cached(bytes), !isNumbered || stored.revision >= committed
        else { return nil }
        return (stored.content, isNumbered)
    }

    /// A document's content, and the stamp of the file from which it was read.
    package struct Snapshot {
        fileprivate let content: Content?
        fileprivate let path: String
        fileprivate let stamp: Files.Stamp
    }

    /// Returns the last committed content, and reads it only if it differs from `known`.
    ///
    /// - Returns: the content and a snapshot for the next call. The snapshot is `nil` if the document has
    ///   just changed, because another commit might have the same stamp.
    package func read(
        unless known: Snapshot?
    ) throws(Failure) -> (content: Content?, snapshot: Snapshot?) {
        var found: Files.Stamp?
        // Where `stat` fails, reading fails, too, and says why.
        do throws(SystemError) { found = try Files.stamp(of: path) } catch {}
        guard let stamp = found else { return (try read(), nil) }
        if let known, known.stamp == stamp, known.path == path { return (known.content, known) }
        let content = try read()
        // A file system's clock ticks only some hundred times a second.
        guard stamp.changed < Timestamp.systemNow - .milliseconds(100) else {
            return (content, nil)
        }
        return (content, Snapshot(content: content, path: path, stamp: stamp))
    }

    /// A number that changes with each commit. `nil` if the document has changed within the last second: a
    /// file system's clock is coarse, and the next commit may have the same stamp. Take the number before you
    /// read. C: `stat(2)`.
    package var stamp: Int64? {
        var found: Files.Stamp?
        // Where `stat` fails, reading fails, too, and says why.
        do throws(SystemError) { found = try Files.stamp(of: path) } catch { return nil }
        guard let stamp = found else { return nil }
        guard stamp.seconds < Timestamp.systemNow.seconds - 1 else { return nil }
        return stamp.sum
    }

    /// The file's bytes; an empty array if it is longer than any document, and `nil` if it does not exist or
    /// is a cache's file that cannot be read.
    private func bytes() throws(Failure) -> [UInt8]? {
        do throws(SystemError) {
            return try patiently { () throws(SystemError) in try Files.contents(path) }
        } catch {
            // From open(2), the same number means that the file cannot be opened.
            if error.errno == .tooLarge, error.call == "read" { return [] }
            guard options.isCache, error.errno.concernsOneFile else { throw error.failure }
            return nil
        }
    }

    /// Tries again what fails for one file, where ``ShelfOptions/isRetried`` says so.
    private func patiently<Result>(
        _ work: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        for _ in 0..<2 where options.isRetried {
            do throws(SystemError) { return try work() } catch {
                guard error.errno.concernsOneFile else { throw error }
            }
            sleep(for: .milliseconds(20))
        }
        return try work()
    }

    private func present() throws(Failure) -> Stored<Content>? {
        let bytes = try bytes()
        guard let bytes else { return nil }
        guard !options.isCache else { return cached(bytes) }
        guard let stored = try Stored<Content>(bytes, path) else { throw try setAside() }
        return stored
    }

    /// Applies `change` to the content and commits the result. If `change` changes nothing or throws, the
    /// document stays as it was. A copy without a number may still lose what has become another's.
    ///
    /// - Parameter change: runs once, with the lock held: no network, no second update of this document.
    /// - Returns: the result of `change`.
    /// - Throws: `busy` if the lock is not free within two seconds; `stale` if the file system keeps showing
    ///   an older document than the committed one; `newer` if this program does not know the format.
    ///
    /// The instant of commit is the `rename`. Readers never wait. C: `flock(2)`, `rename(2)`.
    @discardableResult
    package func update<Result>(
        _ change: (inout Content) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holding { (known, commit) throws(Failure) in
            var content = known
            let result = try change(&content)
            try commit(content)
            return result
        }
    }

    /// Runs `body`, which may commit several times, while holding the document's lock: no network, and other
    /// documents only in the order that FORMAT.md gives.
    ///
    /// - Parameter isNumbering: whether a document without a number is committed also if nothing has changed.
    package func holding<Result>(
        isNumbering: Bool = false,
        _ body: (
            _ known: Content, _ commit: (Content) throws(Failure) -> Void
        ) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if options.isCache { clear() }
        return try whenShown { (start) throws(Failure) in
            try Lock.holding(lock) { (lock) throws(Failure) in
                guard var stored = try current(lock, since: start) else { return nil }
                // A document that is not made leaves nothing behind.
                defer { if stored.revision == 0 { lock.discard() } }
                let known = stored.isNumbered ? stored.content : try checked(stored.content)
                return try body(known) { (content) throws(Failure) in
                    let lacksNumber = isNumbering && !stored.isNumbered && stored.revision > 0
                    guard content != stored.content || lacksNumber else { return }
                    let next = stored.followed(by: content)
                    let text = try next.checkedText()
                    try replace(stored, by: content, text, under: lock)
                    lock.remember(next.revision)
                    stored = next
                    stored.inFile = next.revision
                }
            }
        }
    }

    /// Tries something again while the file system may be showing an old state of a document. Documents that
    /// share a lock file are not kept waiting meanwhile.
    ///
    /// - Parameter attempt: gets the moment of the first attempt. It takes the locks that it needs, and
    ///   returns `nil` if it has to be tried again.
    func whenShown<Result>(
        _ attempt: (_ start: Instant) throws(Failure) -> Result?
    ) throws(Failure) -> Result {
        let start = Instant.now
        while true {
            if let result = try attempt(start) { return result }
            sleep(for: .milliseconds(50))
        }
    }

    /// Reads the content, if no program is changing it at this moment and nothing is wrong with it. A copy that an
    /// operator has put beside an emptied lock may show devices that are another's by now.
    ///
    /// - Returns: `nil` if ``holding(_:)`` must find out more.
    package func readIfIdle() throws(Failure) -> Content? {
        try Lock.holdingIfFree(lock) { (committed) throws(Failure) in
            let bytes = try bytes()
            guard let bytes, let stored = try Stored<Content>(bytes, path),
                stored.revision >= committed
            else { return nil }
            return committed == 0 ? try checked(stored.content) : stored.content
        }
    }

    /// Whether there is no document, none was lost, and no program may be making one at this moment. Waits for
    /// no lock.
    package func isAbsent() throws(Failure) -> Bool {
        let isAbsent = try Lock.holdingIfFree(lock) { (committed) throws(Failure) -> Bool? in
            guard committed == 0 else { return false }
            return try bytes() == nil
        }
        return isAbsent ?? false
    }

    /// Whether the lock has a number for the document.
    package var isNumbered: Bool {
        get throws(Failure) { try Lock.committedRevision(at: lock) > 0 }
    }

    /// Takes what has become another's for good out of a document that has no number. Call it before an index
    /// names its owner again.
    ///
    /// - Parameter isNumbering: whether to commit the document also if there is no such thing, so that it has a
    ///   number.
    package func settle(isNumbering: Bool = false) throws(Failure) {
        guard try !isNumbered, try present() != nil else { return }
        try holding(isNumbering: isNumbering) { (known, commit) throws(Failure) in
            try commit(known)
        }
    }

    /// The content of a document without a number, without what has become another's.
    func checked(_ content: Content) throws(Failure) -> Content {
        guard let checkingCopy else { return content }
        return try checkingCopy(content)
    }

    /// Commits the document's text.
    private func replace(
        _ before: Stored<Content>, by after: Content, _ text: [UInt8], under lock: borrowing Lock
    ) throws(Failure) {
        guard let recording else { return try write(text, over: before.inFile, under: lock) }
        try recording(before.content, after) { () throws(Failure) in
            try write(text, over: before.inFile, under: lock)
        }
    }

    private func write(
        _ text: [UInt8], over revision: Int64, under lock: borrowing Lock
    ) throws(Failure) {
        // Before another machine's temporary file might be cut.
        try checkIsUnchanged(since: revision, under: lock)
        try systemCalls(prepare(text))
        try checkIsUnchanged(since: revision, under: lock)
        try systemCalls(Files.commit(path, durably: options.durable))
    }

    private func prepare(_ text: [UInt8]) throws(SystemError) {
        do throws(SystemError) {
            try Files.prepare(path, with: text, durably: options.durable)
        } catch {
            guard error.errno == .noEntry else { throw error }
            // The first document in its folder. Its lock is elsewhere.
            try Files.makeFolder(Files.parent(of: path))
            try Files.prepare(path, with: text, durably: options.durable)
        }
    }

    /// Looks, if the lock was taken long ago, whether another machine has changed the document since or may be
    /// changing it: ``Lock/isOld``.
    ///
    /// - Parameter revision: that of the file when it was read under the lock; 0 if there was none.
    /// - Throws: busy, if so. If it throws nothing, another one can only have begun after that.
    func checkIsUnchanged(since revision: Int64, under lock: borrowing Lock) throws(Failure) {
        guard !options.isLocal, lock.isOld else { return }
        if try lock.isStillHeld(), try revisionInFile() == revision { return }
        throw lostLock
    }

    /// The same before a document is removed, whatever it says.
    func checkIsHeld(_ lock: borrowing Lock) throws(Failure) {
        guard !options.isLocal, lock.isOld, try !lock.isStillHeld() else { return }
        throw lostLock
    }

    /// The revision of the document's file; 0 if there is none or it does not parse.
    func revisionInFile() throws(Failure) -> Int64 {
        let bytes = try bytes()
        return try bytes.flatMap { (bytes) throws(Failure) in
            try Stored<Content>(bytes, path)?.revision
        } ?? 0
    }

    private var lostLock: Failure {
        Failure(
            .later(seconds: 1),
            "unable to write \(path): this machine stood still, and another one may have changed it meanwhile",
            cause: FailureCause.busy)
    }

    /// Removes a FIFO, a folder, a broken link or another account's file that is in place of a cache's document
    /// or of its own lock.
    private func clear() {
        removeIfUnusable(path)
        clearLock()
    }

    /// Removes the document's own lock file if this account cannot open it; one that thousands of documents
    /// share stays. Only the holder of the election may call this: of two simultaneous callers, one could
    /// remove the lock that the other has just made.
    package func clearLock() { removeIfUnusable(lock.own) }

    private func removeIfUnusable(_ path: String) {
        do throws(SystemError) {
            _ = try patiently { () throws(SystemError) in
                try FileDescriptor.open(path, .overwrite)
            }
        } catch {
            let isBrokenLink = error.errno == .noEntry && Files.target(ofLink: path) != nil
            guard error.errno.isFileSpecific || isBrokenLink, !Files.remove(path) else { return }
            _ = Files.removeAll(path)
        }
    }

    /// The content of a document that is locked; `nil` if there is none, or it cannot be read.
    func readable() -> Content? {
        do throws(Failure) { return try bytes().flatMap { cached($0)?.content } } catch {
            return nil
        }
    }

    /// Reads the content of a document that is guarded by another lock than its own.
    package func readUnlocked() throws(Failure) -> Content? {
        let bytes = try bytes()
        guard let bytes else { return nil }
        guard let stored = try Stored<Content>(bytes, path) else { throw setAsideLocked() }
        return stored.content
    }

    /// Writes the content of a document that is guarded by another lock, which the caller holds.
    package func writeUnlocked(_ content: Content) throws(Failure) {
        try systemCalls(Files.makeFolder(Files.parent(of: path)))
        let next = Stored(content: content, revision: try revisionInFile().saturatingAdd(1))
        let text = try next.checkedText()
        try systemCalls(Files.replace(path, with: text, durably: options.durable))
    }

    /// When the document was last written, by the file system's clock.
    package func changed() throws(Failure) -> Timestamp? {
        try systemCalls(Files.stamp(of: path)?.changed)
    }

    private func cached(_ bytes: [UInt8]) -> Stored<Content>? {
        do throws(Failure) { return try Stored<Content>(bytes, path) } catch { return nil }
    }

    /// A cache's document, read under its lock. An older one than was committed will do: it is going to be
    /// replaced.
    private func currentCached(committed: Int64) throws(Failure) -> Stored<Content> {
        let bytes = try bytes()
        let stored = bytes.flatMap { cached($0) }
        let revision = stored?.revision ?? 0
        var current = Stored(
            content: stored?.content ?? Content(), revision: max(revision, committed))
        current.inFile = revision
        return current
    }

    /// The document, read under its lock.
    ///
    /// - Parameter start: when this was first tried.
    /// - Returns: `nil` if a cluster file system may be showing an old state: try again a little later, without
    ///   the lock meanwhile (``whenShown(_:)``).
    func current(
        _ lock: borrowing Lock, since start: Instant
    ) throws(Failure) -> Stored<Content>? {
        var committed = try lock.committedRevision()
        guard !options.isCache else { return try currentCached(committed: committed) }
        let bytes = try bytes()
        var known = try bytes.flatMap { (bytes) throws(Failure) in try Stored<Content>(bytes, path)
        }
        if bytes != nil, known == nil { throw setAside(under: lock) }
        if committed > 0, try lock.takeEmptied() { committed = 0 }
        known?.isNumbered = committed > 0
        if let known {
            if known.revision >= committed { return known }
        } else if committed == 0 || options.mayVanish {
            var absent = Stored(content: Content(), revision: committed)
            absent.isNumbered = committed > 0
            return absent
        }
        if known == nil, copy != nil { throw missing }
        guard options.isLocal || Instant.now - start >= .milliseconds(3000) else { return nil }
        guard let known else { throw missing }
        // It could have been lost as well.
        guard !options.mayVanish else {
            var older = Stored(content: known.content, revision: committed)
            older.inFile = known.revision
            return older
        }
        throw stale(known.revision, committed)
    }

    /// The failure if the document is older than the one that was committed.
    private func stale(_ revision: Int64, _ committed: Int64) -> Failure {
        guard options.isLocal else {
            return Failure(
                .later(seconds: 5),
                "unable to read \(path): the file system still shows an older revision than \(committed)",
                cause: FailureCause.stale, file: path)
        }
        return Failure(
            .broken,
            """
            unable to use \(path): it has revision \(revision), but revision \(committed) was committed, \
            so an older copy is in its place. \(remedy)
            """,
            cause: FailureCause.stale, file: path)
    }

    /// Renames a document that does not parse, unless somebody has repaired it meanwhile.
    private func setAside() throws(Failure) -> Failure {
        try Lock.holding(lock) { (lock) throws(Failure) in
            let bytes = try bytes()
            guard let bytes, try Stored<Content>(bytes, path) == nil else { return missing }
            return setAside(under: lock)
        }
    }

    /// Renames an older copy that is in the document's place, as if it were damaged.
    package func setAsideOlderCopy() throws(Failure) {
        try Lock.holding(lock) { (lock) throws(Failure) in
            let known = try bytes().flatMap { (bytes) throws(Failure) in
                try Stored<Content>(bytes, path)
            }
            guard let known, try known.revision < lock.committedRevision() else { return }
            _ = setAsideLocked()
        }
    }

    /// Renames a damaged document, which counts as lost from then on: also one that had no number, and one whose
    /// lock an operator has emptied for it.
    private func setAside(under lock: borrowing Lock) -> Failure {
        do throws(Failure) {
            _ = try lock.takeEmptied()
            if try lock.committedRevision() == 0 { try lock.rememberLoss() }
        } catch {
            return notSetAside(error.sentence)
        }
        return setAsideLocked()
    }

    private func notSetAside(_ reason: String) -> Failure {
        Failure(
            .broken,
            "unable to read \(path): it is damaged, and it could not be set aside: \(reason)",
            cause: FailureCause.corrupt, file: path)
    }

    private func setAsideLocked() -> Failure {
        let copy = "\(path)\(Self.copyMark)\(Timestamp.systemNow.milliseconds)"
        do throws(SystemError) {
            try Files.rename(path, copy)
            try Files.synchronizeFolder(of: path)
        } catch {
            return notSetAside("unable to rename it to \(copy): \(error.reason)")
        }
        UnusableFiles.record(copy, nil)
        return Failure(
            .broken,
            "unable to read \(path): it is damaged and was set aside as \(copy). \(remedy)",
            cause: FailureCause.corrupt)
    }

    private static var copyMark: String { ".corrupt-" }

    /// The name of the document of which a file is a damaged copy; `nil` if it is none.
    package static func document(ofCopy name: String) -> String? {
        // The names of documents have no dot but that of `.json`.
        let document = name.utf8.prefix { $0 != UInt8(ascii: ".") }.count + ".json".utf8.count
        let end = name.utf8.dropFirst(document)
        guard end.starts(with: copyMark.utf8) else { return nil }
        return String(decoding: Array(name.utf8.prefix(document)), as: UTF8.self)
    }

    /// The newest damaged copy that was set aside; `nil` if there is none.
    private var copy: String? {
        let prefix = Files.name(of: path) + Self.copyMark
        let folder = Files.parent(of: path)
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: folder) } catch { return nil }
        return names.filter { $0.utf8.starts(with: prefix.utf8) }.max().map { "\(folder)/\($0)" }
    }

    private var missing: Failure {
        let reason =
            if let copy {
                "it was damaged and set aside as \(copy)"
            } else {
                "it was committed and is gone"
            }
        return Failure(
            .broken, "unable to read \(path): \(reason). \(remedy)", cause: "missing", file: path)
    }

    /// The remedy for a damaged or missing document.
    private var remedy: String {
        guard !options.mayVanish else { return "It begins anew; delete the copy" }
        // If the file is the document's own lock and is not there, the document counts as never committed.
        let option = lock.key == nil ? "-c -s 0" : "-s 0"
        return
            """
            Restore it from a backup or go on without it; in both cases leave an empty lock file. Run: \
            truncate \(option) \(path).lock
            """
    }
}
