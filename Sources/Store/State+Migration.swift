import Documents
import JSON
import Turnstone
import Unix

// Version 1 had one queue, `spool/`, and receipts without a service's name. Since version 2, each push
// service has a queue of its own, and version 1's queue has become that of APNs.
//
// In version 2 each document had a lock file of its own, `NAME.json.lock`. Since version 3, the documents of the
// large shelves share lock files.

extension State {
    /// Brings the folder to this program's version.
    ///
    /// - Parameter path: `version.json`.
    /// - Returns: the version that the folder has then.
    /// - Throws: later, if a drainer of version 1 does not end.
    func migrate(_ path: String) throws(Failure) -> LayoutVersion {
        try Lock.holding(path) { (_) throws(Failure) in
            let known = try version(path) ?? LayoutVersion(version: Self.version)
            guard known.version < Self.version else { return known }
            if known.version < 2 { try adoptFirstLayout() }
            try removeFormerLocks()
            let present = LayoutVersion(version: Self.version, ownLocks: .held)
            try systemCalls(Files.replace(path, with: present.text))
            return present
        }
    }

    /// Removes the lock files of a version 3 that an operator has gone back from: documents were removed since,
    /// and their numbers would make them count as lost.
    private func removeFormerLocks() throws(Failure) {
        let locks = "\(folder)/locks"
        guard try systemCalls(Files.exists(locks)), !Files.removeAll(locks) else { return }
        let errno = Errno.current
        throw Failure(
            .broken, "unable to remove \(locks): \(errno.reason)", cause: errno.name, file: locks)
    }

    /// Moves what programs of version 1 have written that began before the migration. A drainer calls it
    /// before it begins, and then once a second.
    @export(interface)
    package func adoptStragglers() throws(Failure) {
        let spool = "\(folder)/spool"
        let isAny = try systemCalls { () throws(SystemError) in
            if try Files.exists("\(spool)/ready") { return true }
            return try Files.exists("\(spool)/waiting")
        }
        guard isAny else { return }
        try Lock.holding(versionPath) { (_) throws(Failure) in try adoptFirstLayout() }
    }

    /// Moves what is in the places of version 1. The caller holds the lock of `version.json`.
    private func adoptFirstLayout() throws(Failure) {
        let drainer = try stopFirstDrainer()
        defer { drainer?.unlock() }
        let spool = "\(folder)/spool"
        try systemCalls { () throws(SystemError) in
            let checkpoint = "checkpoint.json"
            let folders = ["ready", "waiting", "held", "cancelled", "series", "failed"]
            for name in [checkpoint] + folders where try Files.exists("\(spool)/\(name)") {
                let target = "\(spool)/apns/\(name)"
                if name == checkpoint, try Files.exists(target) { continue }
                try Files.makeFolder("\(spool)/apns")
                try Files.merge("\(spool)/\(name)", into: target)
                try Files.synchronizeFolder("\(spool)/apns")
                try Files.synchronizeFolder(spool)
            }
            let receipts = "\(folder)/receipts"
            var isAnyRenamed = false
            for name in try Files.names(in: receipts) {
                let day = firstDigits(10, of: name)
                let rest = name.utf8.dropFirst(10)
                guard rest.starts(with: ".jsonl".utf8) else { continue }
                let renamed = "\(day).apns.0" + String(decoding: Array(rest), as: UTF8.self)
                let (old, target) = ("\(receipts)/\(name)", "\(receipts)/\(renamed)")
                if try Files.exists(target) {
                    try append(old, to: target)
                } else {
                    try Files.rename(old, target)
                }
                isAnyRenamed = true
            }
            if isAnyRenamed { try Files.synchronizeFolder(receipts) }
        }
        Files.remove(firstLock)
    }

    /// Appends a file to another, durably, and removes it. After a crash its lines may be there twice.
    private func append(_ path: String, to target: String) throws(SystemError) {
        let bytes = try FileDescriptor.open(path, .read).readToEnd()
        let file = try FileDescriptor.open(target, .append)
        try file.write(bytes)
        try file.synchronize()
        Files.remove(path)
    }

    private var firstLock: String { "\(folder)/spool/drainer.lock" }

    /// Asks a drainer of version 1 to end, and waits for its lock.
    ///
    /// - Returns: the lock file; `nil` if there is none.
    private func stopFirstDrainer() throws(Failure) -> FileDescriptor? {
        guard try systemCalls(Files.exists(firstLock)) else { return nil }
        let file = try systemCalls(FileDescriptor.open(firstLock, .update))
        if try systemCalls(file.tryLock()) { return file }
        let bytes = try systemCalls(file.read(upTo: 4096, at: 0))
        process(of: bytes)?.terminate()
        guard try systemCalls(file.lock(patience: .seconds(8))) else {
            throw Failure(
                .later(seconds: 5),
                "unable to move the queue of an earlier version: its deliver still runs; end it",
                cause: FailureCause.busy)
        }
        return file
    }
}
