import JSON
import Turnstone
import Unix

/// One document of a shelf, whether it is there or not.
package struct StoredDocument<Content: Document> {
    package let path: String
    let keeping: Keeping

    /// The content as last committed, or `nil` where there is none. Takes no lock.
    package func read() throws(Failure) -> Content? {
        if let known = try present() { return known }
        guard !keeping.isCache, !keeping.mayVanish, try Lock.committedRevision(of: path) > 0 else {
            return nil
        }
        // The first commit may have come since.
        guard let known = try present() else { throw missing }
        return known
    }

    /// A document's content with the stamp of the file it was read from.
    package struct Snapshot {
        fileprivate let content: Content?
        fileprivate let path: String
        fileprivate let stamp: Files.Stamp
    }

    /// The content as last committed, read only if it is not the one that `known` holds.
    ///
    /// - Returns: a snapshot for the next call; `nil` in its place where the document has just changed, since another commit
    ///   might have the same stamp.
    package func read(
        unless known: Snapshot?
    ) throws(Failure) -> (content: Content?, snapshot: Snapshot?) {
        var found: Files.Stamp?
        // Where `stat` fails, reading fails, too, and says why.
        do throws(SystemError) { found = try Files.stamp(of: path) } catch {}
        guard let stamp = found else { return (try read(), nil) }
        if let known, known.stamp == stamp, known.path == path { return (known.content, known) }
        let content = try read()
        // The clock of a file system ticks some hundred times a second.
        let changed = stamp.milliseconds
        guard changed < Timestamp.systemNow.milliseconds - 100 else { return (content, nil) }
        return (content, Snapshot(content: content, path: path, stamp: stamp))
    }

    /// A number that changes with each commit, for a document that has been unchanged for a second; else `nil`: a file system's
    /// clock is coarse, and the next commit may have the same stamp. Take it before you read. C: `stat(2)`.
    package var stamp: Int64? {
        var found: Files.Stamp?
        // Where `stat` fails, reading fails, too, and says why.
        do throws(SystemError) { found = try Files.stamp(of: path) } catch { return nil }
        guard let stamp = found else { return nil }
        guard stamp.seconds < Timestamp.systemNow.seconds - 1 else { return nil }
        return stamp.sum
    }

    /// The file's bytes; none for a file longer than any document, and `nil` for a cache's file that cannot be read.
    private func bytes() throws(Failure) -> [UInt8]? {
        do throws(SystemError) { return try Files.contents(path) } catch {
            // From open(2), the same number means that the file cannot be opened.
            if error.errno == .tooLarge, error.call == "read" { return [] }
            guard keeping.isCache, error.errno.isOfTheFile || error.errno == .inputOutput else {
                throw error.failure
            }
            return nil
        }
    }

    private func present() throws(Failure) -> Content? {
        let bytes = try bytes()
        guard let bytes else { return nil }
        guard !keeping.isCache else { return cached(bytes)?.content }
        guard let stored = try Stored<Content>(bytes, path) else { throw try setAside() }
        return stored.content
    }

    /// Replaces the content with what `change` makes of it, or leaves it as it was where `change` changes nothing or throws.
    ///
    /// - Parameter change: runs once, with the lock held: no network, no second update of this document.
    /// - Returns: whatever `change` returns.
    /// - Throws: `busy` after two seconds without the lock; `stale` where the file system keeps showing an older document
    ///   than was committed; `newer` for a format that this program does not know.
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

    /// Holds the document's lock while `body` runs, which may commit several times: no network, and other documents only in the
    /// order that FORMAT.md gives.
    package func holding<Result>(
        _ body: (
            _ known: Content, _ commit: (Content) throws(Failure) -> Void
        ) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if keeping.isCache { clear() }
        return try Lock.holding(path) { (lock) throws(Failure) in
            var stored = try current(committed: lock.committedRevision())
            return try body(stored.content) { (content) throws(Failure) in
                guard content != stored.content else { return }
                let next = Stored(content: content, revision: stored.revision.saturatingAdd(1))
                let text = try next.checkedText()
                try systemCalls(Files.replace(path, with: text, durably: keeping.durable))
                lock.remember(next.revision)
                stored = next
            }
        }
    }

    /// Removes a FIFO, a folder or another account's file from the places of a cache's document and its lock.
    private func clear() {
        removeIfUnusable(path)
        removeIfUnusable("\(path).lock")
    }

    /// Removes the document's lock where this account cannot take it. Only the holder of the election may call this: of two
    /// callers at once, one could remove the lock that the other has just made.
    package func clearLock() { removeIfUnusable("\(path).lock") }

    private func removeIfUnusable(_ path: String) {
        do throws(SystemError) { _ = try FileDescriptor.open(path, .overwrite) } catch {
            guard error.errno.isOfTheFile, !Files.remove(path) else { return }
            _ = Files.removeAll(path)
        }
    }

    /// The content, where another lock than the document's own guards it.
    package func readUnlocked() throws(Failure) -> Content? {
        let bytes = try bytes()
        guard let bytes else { return nil }
        guard let stored = try Stored<Content>(bytes, path) else { throw setAsideLocked() }
        return stored.content
    }

    /// Writes the content, where the caller holds the other lock that guards it.
    package func writeUnlocked(_ content: Content) throws(Failure) {
        try systemCalls(Files.makeFolder(Files.parent(of: path)))
        let bytes = try bytes()
        let revision = try bytes.flatMap { (bytes) throws(Failure) in
            try Stored<Content>(bytes, path)?.revision
        }
        let next = Stored(content: content, revision: (revision ?? 0).saturatingAdd(1))
        let text = try next.checkedText()
        try systemCalls(Files.replace(path, with: text, durably: keeping.durable))
    }

    /// When the document was last written, in milliseconds since 1970 by the file system's clock.
    package func changed() throws(Failure) -> Int64? {
        try systemCalls(Files.stamp(of: path)?.milliseconds)
    }

    private func cached(_ bytes: [UInt8]) -> Stored<Content>? {
        do throws(Failure) { return try Stored<Content>(bytes, path) } catch { return nil }
    }

    /// A cache's document under its lock; an older one than was committed is good enough to be replaced.
    private func currentCached(committed: Int64) throws(Failure) -> Stored<Content> {
        let bytes = try bytes()
        let stored = bytes.flatMap { cached($0) }
        return Stored(
            content: stored?.content ?? Content(), revision: max(stored?.revision ?? 0, committed))
    }

    /// The document under its lock. A cluster file system may show an older one for a while.
    private func current(committed: Int64) throws(Failure) -> Stored<Content> {
        guard !keeping.isCache else { return try currentCached(committed: committed) }
        let start = Instant.now
        while true {
            let bytes = try bytes()
            if let bytes {
                guard let stored = try Stored<Content>(bytes, path) else {
                    throw setAsideLocked()
                }
                if stored.revision >= committed { return stored }
            } else if committed == 0 || keeping.mayVanish {
                return Stored(content: Content(), revision: committed)
            } else if try isSetAside() {
                throw missing
            }
            guard Instant.now - start < .milliseconds(3000) else {
                throw Failure(
                    .later(seconds: 5),
                    "unable to read \(path): a revision older than \(committed)",
                    cause: "stale")
            }
            sleep(for: .milliseconds(50))
        }
    }

    /// Moves a document that does not parse out of the way, unless somebody has repaired it meanwhile.
    private func setAside() throws(Failure) -> Failure {
        try Lock.holding(path) { (_) throws(Failure) in
            let bytes = try bytes()
            guard let bytes, try Stored<Content>(bytes, path) == nil else { return missing }
            return setAsideLocked()
        }
    }

    private func setAsideLocked() -> Failure {
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

    private func isSetAside() throws(Failure) -> Bool {
        let prefix = Files.name(of: path) + ".corrupt-"
        return try systemCalls(Files.names(in: Files.parent(of: path))).contains {
            $0.utf8.starts(with: prefix.utf8)
        }
    }

    private var missing: Failure {
        Failure(
            .broken, "unable to read \(path): it was committed and is gone; restore it",
            cause: "missing", file: path)
    }
}
