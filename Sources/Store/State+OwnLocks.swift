import Documents
import Turnstone
import Unix

// Version 2 has left a lock file of each document. Once no program of version 2 runs, a document's next commit
// removes its file, and `check-turns` those of documents that nobody changes.

extension State {
    /// The shelves whose documents share lock files.
    private static let shelvesSharingLocks = [
        "users", "tokens", "aliases", "keys", "activities", "sessions", "channels", "looks",
    ]

    /// The longest time that programs of version 2 run, drainers aside, which began before the folder became
    /// version 3.
    private static let longestRun = Interval.hours(1)

    private var migrationPath: String { "\(folder)/locks/migration.json" }

    /// What is left of the lock files of version 2.
    var ownLocks: OwnLocks {
        switch ownLockPhase {
        case nil: .gone
        case .left: .left
        case .held:
            // Read each time: the phase may end while this program runs.
            .held { [versionPath] in
                var bytes: [UInt8]?
                do throws(SystemError) { bytes = try Files.contents(versionPath) } catch {}
                guard let known = bytes.flatMap({ LayoutVersion($0) }) else { return true }
                return known.ownLocks == .held
            }
        }
    }

    /// Waits for the end of all programs of version 2, and then removes the lock files that they have left.
    /// The numbers in them go into the shared files. Each run does a part of it.
    ///
    /// - Parameter longest: how long it may take. At least one file is removed.
    @export(interface)
    package func migrateOwnLocks(within longest: Interval, at now: Timestamp) throws(Failure) {
        guard ownLockPhase != nil else { return }
        try systemCalls(Files.makeFolder(Files.parent(of: migrationPath)))
        let lock = try systemCalls(FileDescriptor.open("\(folder)/locks/migration.lock", .update))
        guard try systemCalls(lock.tryLock()) else { return }
        defer { lock.unlock() }
        // Another run may have gone on since this program began.
        guard let known = try version(versionPath), known.version == Self.version,
            let phase = known.ownLocks
        else { return }
        var migration = LockMigration(try systemCalls(Files.contents(migrationPath)) ?? [])
        switch phase {
        case .held:
            migration.count(until: now)
            if migration.waited >= Self.longestRun, !isFormerDrainerRunning() {
                try setOwnLocks(.left)
                migration = LockMigration()
            }
        case .left:
            try sweepOwnLocks(&migration, until: .now + longest)
            if migration.next == Self.lockParts, migration.skipped.isEmpty {
                try setOwnLocks(nil)
                Files.remove(migrationPath)
                return
            }
        }
        try systemCalls(Files.replace(migrationPath, with: migration.text, durably: false))
    }

    private func setOwnLocks(_ phase: LayoutVersion.OwnLockPhase?) throws(Failure) {
        try Lock.holding(versionPath) { (_) throws(Failure) in
            // An operator may have gone back to version 2 meanwhile.
            guard try version(versionPath)?.version == Self.version else { return }
            try systemCalls(
                Files.replace(
                    versionPath, with: LayoutVersion(version: Self.version, ownLocks: phase).text))
        }
    }

    /// 256 folders for each shelf.
    static var lockParts: Int { shelvesSharingLocks.count * 256 }

    private func sweepOwnLocks(
        _ migration: inout LockMigration, until end: Instant
    ) throws(Failure) {
        // A part that was skipped waits for the next run.
        let again = migration.next == Self.lockParts ? migration.skipped : []
        for part in again {
            switch try sweepOwnLocks(of: part, until: end) {
            case .done: migration.skipped.removeAll { $0 == part }
            case .skipped: break
            case .timeOver: return
            }
            if Instant.now >= end { return }
        }
        while migration.next < Self.lockParts {
            switch try sweepOwnLocks(of: migration.next, until: end) {
            case .done: break
            case .skipped: migration.skipped.append(migration.next)
            case .timeOver: return
            }
            migration.next += 1
            if Instant.now >= end { return }
        }
    }

    private enum Swept {
        case done
        /// A file could not be used, or was locked.
        case skipped
        case timeOver
    }

    private func sweepOwnLocks(of part: Int, until end: Instant) throws(Failure) -> Swept {
        let shelf = Self.shelvesSharingLocks[part / 256]
        let folder = "\(folder)/\(shelf)/\(hex([UInt8(part % 256)]))"
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: folder) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            // `health` reports it. The files in it are still needed.
            error.failure.recordFile()
            return .skipped
        }
        var isAnySkipped = false
        for name in names where name.utf8.suffix(10).elementsEqual(".json.lock".utf8) {
            let document = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            do throws(Failure) {
                let place = lock(ofDocumentAt: "\(folder)/\(document)")
                try Lock.waiting(upTo: .seconds(0)) { () throws(Failure) in
                    try Lock.holding(place) { (lock) throws(Failure) in try lock.adoptOwn() }
                }
            } catch {
                guard error.isFileSpecific || error.cause == FailureCause.busy else { throw error }
                error.recordFile()
                isAnySkipped = true
                continue
            }
            if Instant.now >= end { return .timeOver }
        }
        return isAnySkipped ? .skipped : .done
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
                folder: shelf, ownLocks: ownLocks)[named: DocumentName(hash: file)].lock
        }
    }
}
