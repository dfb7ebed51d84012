import Turnstone
import Unix

/// The exclusive right to write a document: a lock on a sibling file that is never renamed. Only its holder
/// removes the file, together with the document or if there never was one. The file stores the last committed
/// revision. C: `flock(2)`.
package struct Lock: ~Copyable {
    private let file: FileDescriptor

    /// The longest time this process waits for a lock. Only for programs that use locks on one thread.
    nonisolated(unsafe) private static var patience = Interval.seconds(2)
    /// Whether a user's lock that is not free within that time is recorded for `health`: a process that is
    /// frozen or stuck may hold it for ever. Other locks may be held for longer.
    nonisolated(unsafe) private static var isRecording = true

    /// The number of locks that this process has acquired so far.
    nonisolated(unsafe) package private(set) static var acquired = 0

    /// Runs `body`; until it returns, no lock is waited for longer than `longest`.
    ///
    /// - Parameter isRecording: whether a user's lock that is not free then is recorded for `health`.
    package static func waiting<Result>(
        upTo longest: Interval, recording isRecording: Bool = false,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let usual = (patience, Self.isRecording)
        (patience, Self.isRecording) = (longest, isRecording)
        defer { (patience, Self.isRecording) = usual }
        return try body()
    }

    /// Runs `body` while holding the lock of the document at `path`.
    ///
    /// - Throws: `busy` if the lock is not free within two seconds, or within the time of
    ///   ``waiting(upTo:recording:_:)``.
    package static func holding<Result>(
        _ path: String, _ body: (borrowing Lock) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock = try Lock(of: path)
        // This use after `body` keeps the descriptor open. Without it, the lock may be lost before a body
        // that ignores its argument has begun.
        defer { lock.file.unlock() }
        return try body(lock)
    }

    /// Runs `body` while holding the lock, if no process holds it at this moment. Makes no lock file: if
    /// there is none, nobody held the lock when this was called.
    ///
    /// - Parameter body: gets the last committed revision.
    /// - Returns: `nil` if a process holds the lock.
    package static func holdingIfFree<Result>(
        _ path: String, _ body: (_ committed: Int64) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        let file: FileDescriptor
        let lockPath = path + ".lock"
        do throws(SystemError) { file = try FileDescriptor.open(lockPath, .overwrite) } catch {
            guard error.errno == .noEntry else { throw error.failure }
            return try body(0)
        }
        // Closing the file releases the lock.
        defer { withExtendedLifetime(file) {} }
        guard try systemCalls(file.tryLock()), try systemCalls(file.isStill(at: lockPath)) else {
            return nil
        }
        return try body(systemCalls(committedRevision(in: file)))
    }

    private init(of path: String) throws(Failure) {
        let lockPath = path + ".lock"
        var removed: Instant?
        while true {
            let file = try systemCalls(Self.open(lockPath))
            let isLocked = try systemCalls(file.lock(patience: Self.patience))
            guard isLocked else {
                if Self.isRecording, isOfUsers(path) {
                    UnusableFiles.record(lockPath, FailureCause.busy)
                }
                throw Failure(
                    .later(seconds: 2),
                    "unable to lock \(lockPath): busy for \(Self.patience.milliseconds) ms",
                    cause: FailureCause.busy)
            }
            // The previous holder may have removed the file with its document. Then other processes lock a
            // new file. The number of its names does not tell: NFS and fuse-overlayfs keep one of their own.
            if try systemCalls(file.isStill(at: lockPath)) {
                self.file = file
                Self.acquired += 1
                return
            }
            let now = Instant.now
            guard now - (removed ?? now) <= Self.patience else {
                throw Failure(
                    .later(seconds: 2),
                    "unable to lock \(lockPath): it was removed or replaced each time",
                    cause: FailureCause.busy)
            }
            removed = removed ?? now
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

    /// The last committed revision; 0 before the first commit.
    package func committedRevision() throws(Failure) -> Int64 {
        try systemCalls(Self.committedRevision(in: file))
    }

    /// The last committed revision of the document at `path`, without holding its lock.
    package static func committedRevision(of path: String) throws(Failure) -> Int64 {
        try systemCalls { () throws(SystemError) in
            do throws(SystemError) {
                return try committedRevision(in: FileDescriptor.open(path + ".lock", .read))
            } catch {
                guard error.errno == .noEntry || error.errno == .notDirectory else { throw error }
                return 0
            }
        }
    }

    /// The number counts only in the file that it was written to. In a copy of the state folder, which may
    /// hold an older document with a newer number, it is ignored.
    private static func committedRevision(in file: FileDescriptor) throws(SystemError) -> Int64 {
        let text = try file.read(upTo: 62, at: 0)
        func word(_ place: Int) -> Int64? {
            Int64(String(decoding: text.dropFirst(place * 21).prefix(20), as: UTF8.self))
        }
        let revision = word(0) ?? 0
        guard let inode = word(1), let birth = word(2) else { return revision }
        let own = try file.identity()
        // Not all machines that share a file system may see a file's creation time.
        let isSame = inode == own.inode && (birth == own.birth || birth == 0 || own.birth == 0)
        return isSame ? revision : 0
    }

    /// Stores the number of a commit. The document itself is already committed: if this fails, the next
    /// writer finds the document newer than the number and accepts it.
    package func remember(_ revision: Int64) {
        do throws(SystemError) {
            let own = try file.identity()
            let words = [revision, own.inode, own.birth].map { padded($0) }
            try file.write(Array(words.joined(separator: [UInt8(ascii: " ")])), at: 0)
        } catch {}
    }
}

/// Whether a path is that of a user's document.
private func isOfUsers(_ path: String) -> Bool {
    let shelf = Files.parent(of: Files.parent(of: path))
    return Files.name(of: shelf).utf8.elementsEqual("users".utf8)
}

private func padded(_ number: Int64) -> [UInt8] {
    let digits = Array(String(number).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 20 - digits.count)) + digits
}
