import Documents
import JSON
import Turnstone
import Unix

// Version 1 had one queue, `spool/`, and receipts without a service's name. Since version 2, each push
// service has a queue of its own, and version 1's queue has become that of APNs.

extension State {
    /// Brings the folder to this program's version.
    ///
    /// - Parameter path: `version.json`.
    /// - Throws: later, if a drainer of version 1 does not end.
    func migrate(_ path: String) throws(Failure) {
        try Lock.holding(path) { (_) throws(Failure) in
            guard try version(path) ?? Self.version < Self.version else { return }
            try adoptFirstLayout()
            try systemCalls(
                Files.replace(path, with: JSON.text(["version": .integer(Self.version)])))
        }
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
        var process: Int64?
        do throws(JSONError) { process = try JSON.parse(bytes).object?["pid"]?.integer } catch {}
        if let process, let id = OtherProcess(process, program: "deliver") { id.terminate() }
        guard try systemCalls(file.lock(patience: .seconds(8))) else {
            throw Failure(
                .later(seconds: 5),
                "unable to move the queue of an earlier version: its deliver still runs; end it",
                cause: FailureCause.busy)
        }
        return file
    }
}
