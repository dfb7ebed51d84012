import Turnstone
import Unix

/// All documents of one kind. If there may be many, they are in 256 folders by the first byte of a SHA-256, and
/// share 4,096 lock files.
package struct Shelf<Key: DocumentKey, Content: Document> {
    package let folder: String
    private let options: ShelfOptions
    private let recording: Recording?
    private let checkingCopy: CheckingCopy?

    /// Runs a commit of a document, before and after which it may write elsewhere. It holds the document's
    /// lock.
    package typealias Recording = (
        _ key: Key, _ before: Content, _ after: Content, _ commit: () throws(Failure) -> Void
    ) throws(Failure) -> Void

    /// Takes out of a document that has no number, and may be a copy of any age, what has become another's
    /// since. It takes no lock.
    package typealias CheckingCopy = (_ key: Key, _ content: Content) throws(Failure) -> Content

    package init(
        folder: String, durable: Bool = true, isCache: Bool = false, isRetried: Bool = false,
        mayVanish: Bool = false, isLocal: Bool = false, ownLocks: OwnLocks = .gone,
        recording: Recording? = nil,
        checkingCopy: CheckingCopy? = nil
    ) {
        self.folder = folder
        self.recording = recording
        self.checkingCopy = checkingCopy
        options = ShelfOptions(
            durable: durable, isCache: isCache, isRetried: isRetried, mayVanish: mayVanish,
            isLocal: isLocal, ownLocks: ownLocks)
    }

    /// The document of a key, which may not exist.
    package subscript(key: Key) -> StoredDocument<Content> {
        var document = self[named: key.documentName]
        if let recording {
            document.recording = { (before, after, commit) throws(Failure) in
                try recording(key, before, after, commit)
            }
        }
        if let checkingCopy {
            document.checkingCopy = { (content) throws(Failure) in try checkingCopy(key, content) }
        }
        return document
    }

    /// The document of that name, which may not exist.
    package subscript(named name: DocumentName) -> StoredDocument<Content> {
        let file = "\(name.file).json"
        let path = name.shard.map { "\(folder)/\($0)/\(file)" } ?? "\(folder)/\(file)"
        return StoredDocument(path: path, name, options: options)
    }

    /// The keys in groups of at most 64, whose documents share a lock file.
    package func groups(of keys: [Key]) -> [[Key]] {
        var groups: [[Key]] = []
        var file: String?
        let named = keys.map { (lock: $0.documentName.lock?.file, key: $0) }
        for (lock, key) in named.sorted(by: { $0.lock ?? "" < $1.lock ?? "" }) {
            if lock != nil, lock == file, groups[groups.count - 1].count < 64 {
                groups[groups.count - 1].append(key)
            } else {
                groups.append([key])
                file = lock
            }
        }
        return groups
    }

    /// Reads the documents of one of the ``groups(of:)`` as ``StoredDocument/readIfIdle()`` does, in half of the
    /// system calls. Their lock file stays locked meanwhile.
    ///
    /// - Parameter body: gets each key, with `nil` for a document that could not be read so.
    package func readIfIdle(
        _ group: [Key], _ body: (Key, Content?) throws(Failure) -> Void
    ) throws(Failure) {
        guard let first = group.first else { return }
        try Lock.holdingFileIfFree(self[first].lock) { () throws(Failure) in
            for key in group {
                var found: Content?
                do throws(Failure) { found = try self[key].readIfIdle() } catch {}
                try body(key, found)
            }
        }
    }

    /// Waits until each program of this version that holds a lock of the documents in one of the folders at this
    /// moment has let it go, or has not for so long.
    package func awaitHolders(ofDocumentsIn shard: String, upTo patience: Interval) {
        let deadline = Instant.now + patience
        let locks = LockPlace.folder(ofShelf: folder)
        for digit in "0123456789abcdef" {
            do throws(SystemError) {
                // Without a file, nobody holds the lock. Closing it gives it up.
                let file = try FileDescriptor.open("\(locks)/\(shard)\(digit).lock", .overwrite)
                _ = try file.lock(patience: max(.milliseconds(0), deadline - Instant.now))
                file.unlock()
            } catch {}
        }
    }

    /// Calls `body` with each document's file name, without its extension, in no order.
    ///
    /// - Parameter unlisted: gets the failure of each folder that cannot be listed. The names in the other
    ///   folders follow.
    package func forEachName(
        unlisted: (Failure) -> Void, _ body: (String) throws(Failure) -> Void
    ) throws(Failure) {
        for shard in try names(in: folder) {
            var names: [String] = []
            do throws(Failure) { names = try self.names(in: "\(folder)/\(shard)") } catch {
                guard error.isFileSpecific else { throw error }
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

    private func names(in folder: String) throws(Failure) -> [String] {
        try systemCalls { () throws(SystemError) in
            do throws(SystemError) { return try Files.names(in: folder) } catch {
                guard error.errno == .notDirectory else { throw error }
                return []
            }
        }
    }
}
