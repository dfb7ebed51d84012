import Documents
import Turnstone
import Unix

// Version 2 has left a lock file of each document. A document's next commit removes it, and the sweep those of
// documents that nobody changes.

extension State {
    /// The shelves whose documents share lock files.
    private static let shelvesSharingLocks = [
        "users", "tokens", "aliases", "keys", "activities", "sessions", "channels", "looks",
    ]

    private var progressPath: String { "\(folder)/locks/swept" }

    /// Removes lock files that version 2 has left, from where the last run stopped. The numbers in them go
    /// into the shared files. Nothing is done while programs of version 2 may run.
    ///
    /// - Parameter longest: how long it may take. At least one file is removed.
    func sweepOwnLocks(within longest: Interval) throws(Failure) {
        guard let ownLocksUntil, Timestamp.systemNow >= ownLocksUntil else { return }
        let end = Instant.now + longest
        var part = try sweptParts()
        let parts = Self.shelvesSharingLocks.count * 256
        while part < parts {
            let shelf = Self.shelvesSharingLocks[part / 256]
            if try sweepOwnLocks(of: shelf, hex([UInt8(part % 256)]), until: end) { part += 1 }
            if Instant.now >= end, part < parts {
                try systemCalls(Files.makeFolder(Files.parent(of: progressPath)))
                return try systemCalls(
                    Files.replace(progressPath, with: Array("\(part)".utf8), durably: false))
            }
        }
        try Lock.holding(versionPath) { (_) throws(Failure) in
            // Another state may have been put in place meanwhile.
            guard let known = try version(versionPath), known.ownLocksUntil == ownLocksUntil else {
                return
            }
            try systemCalls(
                Files.replace(versionPath, with: LayoutVersion(version: known.version).text))
        }
        Files.remove(progressPath)
    }

    /// How many parts the runs so far have swept.
    private func sweptParts() throws(Failure) -> Int {
        let bytes = try systemCalls(Files.contents(progressPath)) ?? []
        return max(0, Int(String(decoding: bytes, as: UTF8.self)) ?? 0)
    }

    /// - Returns: whether all have been looked at.
    private func sweepOwnLocks(
        of shelf: String, _ shard: String, until end: Instant
    ) throws(Failure) -> Bool {
        let folder = "\(folder)/\(shelf)/\(shard)"
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: folder) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            // `health` reports it, and the files in it are of no use.
            error.failure.recordFile()
        }
        for name in names where name.utf8.suffix(10).elementsEqual(".json.lock".utf8) {
            let document = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            do throws(Failure) {
                try Lock.holding(lock(ofDocumentAt: "\(folder)/\(document)")) {
                    (lock) throws(Failure) in try lock.adoptOwn()
                }
            } catch {
                guard error.isFileSpecific || error.cause == FailureCause.busy else { throw error }
                error.recordFile()
            }
            if Instant.now >= end { return false }
        }
        return true
    }

    /// Where the lock of the document at a path below this folder is.
    func lock(ofDocumentAt path: String) -> LockPlace {
        let shard = Files.parent(of: path)
        let shelf = Files.parent(of: shard)
        let name = Files.name(of: path)
        guard Files.parent(of: shelf) == folder, name.utf8.suffix(5).elementsEqual(".json".utf8),
            Self.shelvesSharingLocks.contains(Files.name(of: shelf))
        else { return LockPlace(of: path) }
        let file = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
        switch Files.name(of: shelf) {
        case "users":
            return users[named: DocumentName(file: file, shard: Files.name(of: shard))].lock
        case "looks":
            return looks[named: DocumentName(file: file, shard: Files.name(of: shard))].lock
        default:
            // Only the shelf's name matters, and the document's.
            return Shelf<DocumentName, Opaque>(
                folder: shelf, ownLocksUntil: ownLocksUntil)[named: DocumentName(hash: file)].lock
        }
    }
}
