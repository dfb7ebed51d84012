import Turnstone
import Unix

/// The exclusive right to write a document: a lock on a sibling file that is never renamed, and is removed only with
/// the document, by whoever holds the lock. It remembers the last committed revision. C: `flock(2)`.
struct Lock: ~Copyable {
    private let file: FileDescriptor

    /// Runs `body` while holding the lock of the document at `path`.
    ///
    /// - Throws: `busy` after two seconds without the lock.
    static func holding<Result>(
        _ path: String, _ body: (borrowing Lock) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock = try Lock(of: path, patience: 2000)
        // A use after the body: without one, the descriptor may be closed, and the lock lost, before a body that
        // does not use its argument has begun.
        defer { lock.file.unlock() }
        return try body(lock)
    }

    private init(of path: String, patience: Int64) throws(Failure) {
        let lockPath = path + ".lock"
        while true {
            let file = try systemCalls { () throws(SystemError) in try Self.open(lockPath) }
            guard try systemCalls({ () throws(SystemError) in try file.lock(patience: patience) })
            else {
                throw Failure(
                    .later(seconds: 2), "unable to lock \(lockPath): busy for \(patience) ms",
                    cause: "busy")
            }
            // Whoever held it before may have removed it with its document: others lock another file by now.
            if try systemCalls({ () throws(SystemError) in try file.isNamed() }) {
                self.file = file
                return
            }
        }
    }

    private static func open(_ path: String) throws(SystemError) -> FileDescriptor {
        do throws(SystemError) {
            return try FileDescriptor.open(path, .update)
        } catch {
            guard error.errno == .noEntry else { throw error }
            try Files.makeFolder(Files.parent(of: path))
            return try FileDescriptor.open(path, .update)
        }
    }

    /// The last revision that this lock's holders committed; 0 before the first.
    func committedRevision() throws(Failure) -> Int64 {
        let digits = try systemCalls { () throws(SystemError) in try file.read(upTo: 20, at: 0) }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// Remembers a commit. The document itself is committed already: where this fails, the next
    /// writer finds the document newer than the number, and accepts it.
    func remember(_ revision: Int64) {
        let digits = Array(String(revision).utf8)
        let padded = [UInt8](repeating: UInt8(ascii: "0"), count: 20 - digits.count) + digits
        do throws(SystemError) { try file.write(padded, at: 0) } catch {}
    }
}
