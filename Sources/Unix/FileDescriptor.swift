import CUnix
import Turnstone

/// An open file, closed with the last reference to it.
///
/// A class, since Embedded Swift cannot see a noncopyable type's `deinit` from another module.
///
/// Swift may end an object as soon as nothing uses it any more, and reading its number is its last use where it
/// is a temporary. So each method keeps the object until its system call has returned and errno was read.
package final class FileDescriptor {
    let number: Int32
    private let path: String

    /// Takes over an open descriptor; `path` names it in errors.
    package init(owning number: Int32, path: String) {
        self.number = number
        self.path = path
    }

    deinit { _ = close(number) }

    /// Only regular files are opened, unless a mode says otherwise: whatever else has the name, such as a FIFO, could make
    /// whoever opens it wait. No open waits.
    package enum Mode: Sendable {
        case read
        /// For reading, of whatever kind it is.
        case readAny
        /// For reading and writing; made with mode 0600 where it is missing.
        case update
        /// For reading and writing what is there.
        case overwrite
        /// For writing, empty; made where it is missing.
        case anew
        /// Each write goes to the end; made where it is missing.
        case append
        case folder

        var flags: Int32 {
            let flags =
                switch self {
                case .read, .readAny: O_RDONLY
                case .update: O_RDWR | O_CREAT
                case .overwrite: O_RDWR
                case .anew: O_WRONLY | O_CREAT | O_TRUNC
                case .append: O_WRONLY | O_CREAT | O_APPEND
                case .folder: O_RDONLY | O_DIRECTORY
                }
            return flags | O_NONBLOCK | O_NOCTTY
        }

        var isRegular: Bool { self != .readAny && self != .folder }
    }

    /// C: `open(2)`, close-on-exec, mode 0600 for what it makes.
    package static func open(_ path: String, _ mode: Mode) throws(SystemError) -> FileDescriptor {
        let number = retried { cunix_open(path, mode.flags | O_CLOEXEC, 0o600) }
        guard number >= 0 else { throw SystemError("open", path) }
        let file = FileDescriptor(owning: number, path: path)
        if mode.isRegular { try file.requireRegular() }
        return file
    }

    /// - Throws: `EISDIR` for a folder, `EINVAL` for whatever else is no regular file.
    private func requireRegular() throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        let kind = Int32(status.st_mode) & Int32(S_IFMT)
        guard kind != Int32(S_IFREG) else { return }
        throw SystemError("open", path, Errno(rawValue: kind == Int32(S_IFDIR) ? EISDIR : EINVAL))
    }

    /// A file without a name, which goes with its last descriptor; the position is at its start.
    /// C: `memfd_create(2)`.
    package static func inMemory(
        holding bytes: [UInt8] = []
    ) throws(SystemError) -> FileDescriptor {
        let number = memfd_create("turnstone", 1)  // MFD_CLOEXEC
        guard number >= 0 else { throw SystemError("open", "memory") }
        let file = FileDescriptor(owning: number, path: "memory")
        if !bytes.isEmpty { try file.write(bytes, at: 0) }
        return file
    }

    /// Lends the descriptor, which stays open until `body` returns.
    package func withNumber<Result, Fault>(
        _ body: (Int32) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(number)
    }

    /// The size in bytes. C: `fstat(2)`.
    package func size() throws(SystemError) -> Int {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        return Int(status.st_size)
    }

    /// Whether it is a file, or a device such as `/dev/null`, whose bytes are all there. C: `fstat(2)`.
    package func isPlain() throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        // A folder, too: reading it says what it is.
        return [0o100000, 0o040000, 0o020000].contains(status.st_mode & 0o170000)
    }

    /// Whether the file still has a name. C: `fstat(2)`.
    package func isNamed() throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        return status.st_nlink > 0
    }

    /// Whether the file is the one at a path, and not another one that has taken its name. C: `fstat(2)`, `stat(2)`.
    package func isStill(at path: String) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        var own = stat()
        guard fstat(number, &own) == 0 else { throw SystemError("fstat", self.path) }
        var named = stat()
        guard retried({ stat(path, &named) }) == 0 else {
            guard [.noEntry, .notDirectory].contains(Errno.current) else {
                throw SystemError("find", path)
            }
            return false
        }
        return own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// Tells the file from a copy of it, and stays the same when it is written or renamed: its inode, and when it was made in
    /// nanoseconds since 1970, 0 where the file system does not know. C: `fstat(2)`, `statx(2)`.
    package func identity() throws(SystemError) -> (inode: Int64, birth: Int64) {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        return (Int64(truncatingIfNeeded: status.st_ino), cunix_birth(number))
    }

    /// Reads up to `count` bytes; none at the end of the file. C: `read(2)`.
    package func read(upTo count: Int) throws(SystemError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { CUnix.read(number, buffer.baseAddress, count) }
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError("read", path) }
        return bytes
    }

    /// Reads to the end, or throws `EFBIG`'s like where there is more than `limit`.
    package func readToEnd(limit: Int = 1 << 30) throws(SystemError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        let size = try size()
        guard size <= limit else { throw SystemError("read", path, .tooLarge) }
        var bytes = try read(upTo: size + 1)
        // A file's last read is short; what states no size, as /proc's files do not, is read to its end.
        guard size == 0 || bytes.count > size else { return bytes }
        while bytes.count <= limit {
            let more = try read(upTo: 65_536)
            if more.isEmpty { return bytes }
            bytes += more
        }
        throw SystemError("read", path, .tooLarge)
    }

    /// Writes all of `bytes`. C: `write(2)`.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                retried { CUnix.write(number, buffer.baseAddress! + done, bytes.count - done) }
            }
            guard count >= 0 else { throw SystemError("write", path) }
            done += count
        }
    }

    /// Reads up to `count` bytes at an offset, without moving the position. C: `pread(2)`.
    package func read(upTo count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { pread(number, buffer.baseAddress, count, off_t(offset)) }
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError("read", path) }
        return bytes
    }

    /// Writes all of `bytes` at an offset. C: `pwrite(2)`.
    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                retried {
                    pwrite(
                        number, buffer.baseAddress! + done, bytes.count - done,
                        off_t(offset + done))
                }
            }
            guard count >= 0 else { throw SystemError("write", path) }
            done += count
        }
    }

    /// Makes the file's bytes and its size durable, and nothing else of it. C: `fdatasync(2)`.
    package func synchronizeData() throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ fdatasync(number) }) == 0 else { throw SystemError("fdatasync", path) }
    }

    /// Sets blocks aside for `count` bytes from `offset` on, beyond the file's end, which stays where
    /// it is: writing there cannot fail for want of room. C: `fallocate(2)`.
    ///
    /// - Returns: whether the file system can do so.
    package func reserve(_ count: Int, at offset: Int) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let result = retried {
            fallocate(number, Int32(cunix_keep_size), off_t(offset), off_t(count))
        }
        if result == 0 { return true }
        guard Errno.current == .notSupported else { throw SystemError("reserve", path) }
        return false
    }

    /// Where the next bytes are that were ever written, from `offset` on, or the file's end: a sparse file of a terabyte
    /// has next to none, and reads as zeros. C: `lseek(2)` with `SEEK_DATA`.
    package func nextData(from offset: Int) throws(SystemError) -> Int {
        defer { withExtendedLifetime(self) {} }
        let place = lseek(number, off_t(offset), 3)  // SEEK_DATA, for GNU sources only
        if place >= 0 { return Int(place) }
        switch Errno.current.rawValue {
        case ENXIO: return max(offset, try size())
        case EINVAL, ESPIPE, EOPNOTSUPP: return offset  // the file system does not know
        default: throw SystemError("seek", path)
        }
    }

    /// Makes the file end at `size`, and gives back what was set aside behind it. C: `ftruncate(2)`.
    package func truncate(to size: Int) throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ ftruncate(number, off_t(size)) }) == 0 else {
            throw SystemError("truncate", path)
        }
    }

    /// Makes the file's bytes durable. C: `fsync(2)`.
    package func synchronize() throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ fsync(number) }) == 0 else { throw SystemError("fsync", path) }
    }

    /// Takes the exclusive lock, which every process of the machine (and of a cluster file system)
    /// sees, if nobody holds it. Released with the descriptor. C: `flock(2)`.
    package func tryLock() throws(SystemError) -> Bool { try tryLock(LOCK_EX) }

    /// Whether a process holds the exclusive lock. Whoever asks takes a shared one for an instant, which is in the
    /// way of nobody else who asks.
    package func isLocked() throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        guard try tryLock(LOCK_SH) else { return true }
        unlock()
        return false
    }

    private func tryLock(_ kind: Int32) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        if retried({ flock(number, kind | LOCK_NB) }) == 0 { return true }
        guard Errno.current == .wouldBlock else { throw SystemError("lock", path) }
        return false
    }

    /// Tries for the lock again and again, at growing distances of 1 to 20 ms, for up to `patience`.
    package func lock(patience: Interval) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        if try tryLock() { return true }
        let start = Instant.now
        var pause = 1
        while Instant.now - start < patience {
            sleep(for: .milliseconds(Int64(pause)))
            if try tryLock() { return true }
            pause = min(20, pause * 2)
        }
        return false
    }

    package func unlock() {
        defer { withExtendedLifetime(self) {} }
        _ = flock(number, LOCK_UN)
    }
}
