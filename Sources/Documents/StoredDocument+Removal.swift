import Turnstone
import Unix

extension StoredDocument {
    /// Removes the document, its lock and related files. After a crash, call it again to finish.
    ///
    /// - Returns: the number of files, without the lock.
    package func erase() throws(Failure) -> Int {
        let folder = Files.parent(of: path)
        let document = Files.name(of: path)
        func files() throws(Failure) -> [String] {
            try systemCalls(Files.names(in: folder)).filter {
                $0 == document || $0.utf8.starts(with: "\(document).".utf8)
            }
        }
        guard try !files().isEmpty else { return 0 }
        return try Lock.holding(path) { (lock) throws(Failure) in
            // The revision first: with it, a missing document would count as lost.
            lock.remember(0)
            let files = try files()
            for file in files where file != "\(document).lock" {
                let path = "\(folder)/\(file)"
                guard !Files.remove(path), !Files.removeAll(path) else { continue }
                let errno = Errno.current
                throw Failure(
                    .broken, "unable to remove \(path): \(errno.reason)", cause: errno.name,
                    file: path)
            }
            // A process that waits for this lock sees that the file is gone, and makes a new one.
            _ = try systemCalls(Files.erase("\(path).lock"))
            try systemCalls(Files.synchronizeFolder(folder))
            return files.count { $0 != "\(document).lock" }
        }
    }

    /// Removes the document and its lock if `condition` holds.
    ///
    /// - Parameter condition: checked before the document is locked, and again under the lock.
    package func remove(where condition: (Content) -> Bool) throws(Failure) -> Bool {
        guard let known = try read(), condition(known) else { return false }
        return try Lock.holding(path) { (lock) throws(Failure) in
            guard let content = try read(), condition(content) else { return false }
            // The revision first: with it, a missing document would count as lost.
            lock.remember(0)
            guard Files.remove(path) else { return false }
            // A process that waits for this lock sees that the file is gone, and makes a new one.
            Files.remove("\(path).lock")
            return true
        }
    }
}
