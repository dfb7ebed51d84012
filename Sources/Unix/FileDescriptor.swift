import CUnix
import Turnstone

/// An open file, closed when the last reference to it goes away.
///
/// It is a class because Embedded Swift cannot see a noncopyable type's `deinit` from another module.
///
/// Swift may destroy an object right after its last use, and for a temporary that is the reading of its
/// number. So each method keeps the object alive until its system call has returned and errno was read.
package final class FileDescriptor {
    let number: Int32
    private let path: String
    /// How it was opened; `nil` if it was not opened by its name.
    private var mode: Mode?
    /// The same file, opened again under the lock (``openAgain()``).
    private var lockedNumber: Int32?
    /// Where bytes are read and written.
    private var contents: Int32 { lockedNumber ?? number }
    /// The size when it was opened, in bytes; `nil` if it was not asked for.
    private var openedSize: Int?
    /// The inode, once it is known.
    private var inode: Int64?
    private var knownIdentity: (inode: Int64, birth: Int64)?

    /// Takes ownership of an open descriptor. `path` names it in errors.
    package init(owning number: Int32, path: String) {
        self.number = number
        self.path = path
    }

    deinit {
        do throws(SystemError) { try publish() } catch {}
        _ = close(number)
    }

    /// How a file is opened. Modes open only regular files unless they say otherwise: anything else with that
    /// name, such as a FIFO, could make the caller wait. Opening never waits.
    package enum Mode: Sendable {
        case read
        /// Read any kind of file.
        case readAny
        /// Read and write; created with mode 0600 if missing.
        case update
        /// Read and write an existing file.
        case overwrite
        /// Write; emptied if it exists, created if missing.
        case truncate
        /// Append with each write; created if missing.
        case append
        case folder

        var flags: Int32 {
            let flags =
                switch self {
                case .read, .readAny: O_RDONLY
                case .update: O_RDWR | O_CREAT
                case .overwrite: O_RDWR
                case .truncate: O_WRONLY | O_CREAT | O_TRUNC
                case .append: O_WRONLY | O_CREAT | O_APPEND
                case .folder: O_RDONLY | O_DIRECTORY
                }
            return flags | O_NONBLOCK | O_NOCTTY
        }

        var isRegular: Bool { self != .readAny && self != .folder }
    }

    /// Opens a file, close-on-exec; a new file gets mode 0600. C: `open(2)`.
    @export(interface)
    package static func open(_ path: String, _ mode: Mode) throws(SystemError) -> FileDescriptor {
        var number = retried { cunix_open(path, mode.flags | O_CLOEXEC, 0o600) }
        // No mode has O_EXCL. A network file system answers this when two machines create a file at once.
        var attempts = 1
        while number < 0, Errno.current == .exists, attempts < 100 {
            attempts += 1
            number = retried { cunix_open(path, mode.flags | O_CLOEXEC, 0o600) }
        }
        guard number >= 0 else { throw SystemError("open", path) }
        let file = FileDescriptor(owning: number, path: path)
        file.mode = mode
        if mode.isRegular { try file.requireRegular() }
        return file
    }

    /// - Throws: `EISDIR` for a folder, `EINVAL` for anything else that is not a regular file.
    private func requireRegular() throws(SystemError) {
        let status = try status(of: number)
        let kind = Int32(status.st_mode) & Int32(S_IFMT)
        guard kind == Int32(S_IFREG) else {
            let errno = kind == Int32(S_IFDIR) ? EISDIR : EINVAL
            throw SystemError("open", path, Errno(rawValue: errno))
        }
        openedSize = Int(status.st_size)
        inode = Int64(truncatingIfNeeded: status.st_ino)
    }

    /// C: `fstat(2)`.
    private func status(of number: Int32) throws(SystemError) -> stat {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("fstat", path) }
        return status
    }

    /// Creates a file without a name that goes away with its last descriptor. The position is at the start.
    /// C: `memfd_create(2)`.
    @export(interface)
    package static func inMemory(
        holding bytes: [UInt8] = []
    ) throws(SystemError) -> FileDescriptor {
        let number = memfd_create("turnstone", 1)  // MFD_CLOEXEC
        guard number >= 0 else { throw SystemError("open", "memory") }
        let file = FileDescriptor(owning: number, path: "memory")
        if !bytes.isEmpty { try file.write(bytes, at: 0) }
        return file
    }

    /// Makes a pipe: what is written to one end is read from the other. C: `pipe(2)`.
    @export(interface)
    package static func pipe() throws(SystemError) -> (
        reader: FileDescriptor, writer: FileDescriptor
    ) {
        var ends: [Int32] = [-1, -1]
        guard CUnix.pipe(&ends) == 0 else { throw SystemError("pipe", "pipe") }
        for end in ends { _ = cunix_fcntl(end, F_SETFD, 1) }  // FD_CLOEXEC
        return (
            FileDescriptor(owning: ends[0], path: "pipe"),
            FileDescriptor(owning: ends[1], path: "pipe")
        )
    }

    /// Waits up to `patience` until a read would return. C: `poll(2)`.
    package func isReadable(within patience: Interval) -> Bool {
        withNumber { number in
            var waiting = PollSet()
            waiting.add(number)
            return waiting.wait(for: patience) > 0
        }
    }

    /// Lends the descriptor, which stays open until `body` returns.
    package func withNumber<Result, Fault>(
        _ body: (Int32) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(number)
    }

    /// The size in bytes. C: `fstat(2)`.
    package func size() throws(SystemError) -> Int { Int(try status(of: contents).st_size) }

    /// Whether it is a file, a folder, or a device such as `/dev/null`: one that can be read without waiting.
    /// C: `fstat(2)`.
    package func isPlain() throws(SystemError) -> Bool {
        let status = try status(of: number)
        openedSize = Int(status.st_size)
        // Folders count too: reading one then throws `EISDIR`.
        return [0o100000, 0o040000, 0o020000].contains(status.st_mode & 0o170000)
    }

    /// Whether this file is the one at `path`; `false` if another file has taken its name. C: `fstat(2)`,
    /// `stat(2)`.
    package func isStill(at path: String) throws(SystemError) -> Bool {
        let own = try status(of: number)
        var named = stat()
        guard retried({ stat(path, &named) }) == 0 else {
            guard [.noEntry, .notDirectory].contains(Errno.current) else {
                throw SystemError("find", path)
            }
            return false
        }
        return own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// Identifies the file: its inode, and its creation time in nanoseconds since 1970 (0 if the file system
    /// does not record it). A copy has another identity; writing or renaming the file does not change it.
    /// C: `fstat(2)`, `statx(2)`.
    package func identity() throws(SystemError) -> (inode: Int64, birth: Int64) {
        defer { withExtendedLifetime(self) {} }
        if let knownIdentity { return knownIdentity }
        let inode =
            if let inode { inode } else { Int64(truncatingIfNeeded: try status(of: number).st_ino) }
        let identity = (inode, cunix_birth(number))
        knownIdentity = identity
        return identity
    }

    /// Reads up to `count` bytes; an empty array at the end of the file. C: `read(2)`.
    package func read(upTo count: Int) throws(SystemError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { CUnix.read(contents, buffer.baseAddress, count) }
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError("read", path) }
        return bytes
    }

    /// Reads to the end. Throws `EFBIG` if there are more than `limit` bytes.
    package func readToEnd(limit: Int = 1 << 30) throws(SystemError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        let size = if let openedSize { openedSize } else { try self.size() }
        guard size <= limit else { throw SystemError("read", path, .tooLarge) }
        // Files that state no size, such as those in /proc, are read to their end.
        var bytes = try read(upTo: size == 0 ? 4096 : size + 1)
        // The read past a file's end is short.
        guard size == 0 && !bytes.isEmpty || bytes.count > size else { return bytes }
        while bytes.count <= limit {
            let more = try read(upTo: max(4096, bytes.count))
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
                retried { CUnix.write(contents, buffer.baseAddress! + done, bytes.count - done) }
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
            result = retried { pread(contents, buffer.baseAddress, count, off_t(offset)) }
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
                        contents, buffer.baseAddress! + done, bytes.count - done,
                        off_t(offset + done))
                }
            }
            guard count >= 0 else { throw SystemError("write", path) }
            done += count
        }
    }

    /// Makes the file's bytes and size durable, but not its other metadata. C: `fdatasync(2)`.
    package func synchronizeData() throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ fdatasync(contents) }) == 0 else { throw SystemError("fdatasync", path) }
    }

    /// Reserves blocks for `count` bytes from `offset` on, beyond the file's end, which does not move.
    /// Writing there then cannot fail for lack of space. C: `fallocate(2)`.
    ///
    /// - Returns: whether the file system supports this.
    package func reserve(_ count: Int, at offset: Int) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let result = retried {
            fallocate(contents, Int32(cunix_keep_size), off_t(offset), off_t(count))
        }
        if result == 0 { return true }
        guard Errno.current == .notSupported else { throw SystemError("reserve", path) }
        return false
    }

    /// The offset of the next bytes that were ever written, at `offset` or later, or the file's end. A sparse
    /// file of a terabyte has hardly any, and reads as zeros. C: `lseek(2)` with `SEEK_DATA`.
    package func nextData(from offset: Int) throws(SystemError) -> Int {
        defer { withExtendedLifetime(self) {} }
        let place = lseek(contents, off_t(offset), 3)  // SEEK_DATA, for GNU sources only
        if place >= 0 { return Int(place) }
        switch Errno.current.rawValue {
        case ENXIO: return max(offset, try size())
        case EINVAL, ESPIPE, EOPNOTSUPP: return offset  // the file system cannot tell
        default: throw SystemError("seek", path)
        }
    }

    /// Makes the file end at `size` and frees the blocks that were reserved beyond it. C: `ftruncate(2)`.
    package func truncate(to size: Int) throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ ftruncate(contents, off_t(size)) }) == 0 else {
            throw SystemError("truncate", path)
        }
    }

    /// Dates the file as if it had been written at a moment of the system's clock, since 1970. C: `futimens(2)`.
    package func date(seconds: Int64, nanoseconds: Int64) throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        let moment = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        guard retried({ futimens(contents, [moment, moment]) }) == 0 else {
            throw SystemError("date", path)
        }
    }

    /// Makes the file's bytes durable. C: `fsync(2)`.
    package func synchronize() throws(SystemError) {
        defer { withExtendedLifetime(self) {} }
        guard retried({ fsync(contents) }) == 0 else { throw SystemError("fsync", path) }
    }

    /// Takes the exclusive lock if no process holds it. All processes of the machine see the lock, and on a
    /// cluster file system all machines. It is released with the descriptor. The file's bytes are those of now,
    /// and reading begins at its start. C: `flock(2)`.
    package func tryLock() throws(SystemError) -> Bool { try tryLock(LOCK_EX) }

    /// Whether a process holds the exclusive lock. Asking takes a shared lock for an instant, which does not
    /// disturb others who ask.
    package func isLocked() throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        guard try tryLock(LOCK_SH) else { return true }
        unlock()
        return false
    }

    private func tryLock(_ kind: Int32) throws(SystemError) -> Bool {
        defer { withExtendedLifetime(self) {} }
        if retried({ flock(number, kind | LOCK_NB) }) == 0 {
            if kind == LOCK_EX { try openAgain() }
            return true
        }
        guard Errno.current == .wouldBlock else { throw SystemError("lock", path) }
        return false
    }

    /// Tries to take the lock for up to `patience`, at intervals that grow from 1 to 20 ms.
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

    /// Opens the file again under its lock. On a file system that several machines may share, a descriptor may show
    /// the file as it was when it was opened, and others see what was written once it is closed (close-to-open, as
    /// of NFS and JuiceFS). C: `fstatfs(2)`, `open(2)`.
    private func openAgain() throws(SystemError) {
        guard let mode, lockedNumber == nil else { return }
        do throws(SystemError) {
            guard try !FileSystem(of: number, path).isLocal else { return }
            let again = retried {
                cunix_open(path, mode.flags & ~(O_CREAT | O_TRUNC) | O_CLOEXEC, 0)
            }
            guard again >= 0 else { throw SystemError("open", path) }
            // Another file may have taken the name.
            guard try isSame(again) else {
                _ = close(again)
                return
            }
            lockedNumber = again
            openedSize = nil
        } catch {
            // If the file was removed or replaced, `isStill(at:)` says so.
            guard error.errno.saysReplaced else { throw error }
        }
    }

    private func isSame(_ other: Int32) throws(SystemError) -> Bool {
        var status = stat()
        guard fstat(other, &status) == 0 else {
            defer { _ = close(other) }
            throw SystemError("fstat", path)
        }
        let own = try self.status(of: number)
        return own.st_dev == status.st_dev && own.st_ino == status.st_ino
    }

    /// Shows others what was written since the file was locked, where that takes a close, and says if it could not be
    /// written. What is read through this object afterwards may be old. C: `close(2)`.
    package func publish() throws(SystemError) {
        guard let again = lockedNumber else { return }
        lockedNumber = nil
        guard close(again) == 0 || Errno.current == .interrupted else {
            throw SystemError("close", path)
        }
    }

    /// Publishes what was written, without telling whether that failed, and releases the lock.
    package func unlock() {
        defer { withExtendedLifetime(self) {} }
        do throws(SystemError) { try publish() } catch {}
        _ = flock(number, LOCK_UN)
    }
}
