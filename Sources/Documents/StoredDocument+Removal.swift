import Turnstone
import Unix

extension StoredDocument {
    /// Removes the document, its lock and related files. After a crash, call it again to finish.
    ///
    /// - Parameter isKept: whether a document that can be read stays, with all of them.
    /// - Returns: the number of files, without the lock.
    package func erase(
        unless isKept: (Content) -> Bool = { _ in false }
    ) throws(Failure) -> Int {
        let folder = Files.parent(of: path)
        let document = Files.name(of: path)
        func files() throws(Failure) -> [String] {
            try systemCalls(Files.names(in: folder)).filter {
                $0 == document || $0.utf8.starts(with: "\(document).".utf8)
            }
        }
        if try files().isEmpty, try Lock.committedRevision(at: lock) == 0 { return 0 }
        return try Lock.holding(lock) { (lock) throws(Failure) in
            if let content = readable(), isKept(content) { return 0 }
            try checkIsHeld(lock)
            try lock.forget()
            let ownLock = "\(document).lock"
            let files = try files()
            // The lock last: a process that waits for it sees then that it is gone, and makes a new one.
            for file in files.filter({ $0 != ownLock }) + files.filter({ $0 == ownLock }) {
                let path = "\(folder)/\(file)"
                guard !Files.remove(path), !Files.removeAll(path) else { continue }
                let errno = Errno.current
                throw Failure(
                    .broken, "unable to remove \(path): \(errno.reason)", cause: errno.name,
                    file: path)
            }
            if !files.isEmpty { try systemCalls(Files.synchronizeFolder(folder)) }
            return files.count { $0 != ownLock }
        }
    }

    /// Removes the document and its lock if `condition` holds.
    ///
    /// - Parameter condition: checked before the document is locked, and again under the lock.
    /// - Throws: also if it could not be removed. It has no number then.
    package func remove(where condition: (Content) -> Bool) throws(Failure) -> Bool {
        guard let known = try read(), condition(known) else { return false }
        return try Lock.holding(lock) { (lock) throws(Failure) in
            let revision = try options.isLocal ? 0 : revisionInFile()
            guard let content = try read(), condition(content) else { return false }
            try checkIsUnchanged(since: revision, under: lock)
            try lock.forget()
            let isRemoved = try systemCalls(Files.erase(path))
            lock.discard()
            return isRemoved
        }
    }
}
