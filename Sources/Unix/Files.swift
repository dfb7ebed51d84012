import CUnix
import Turnstone

/// Operations on the file system. Errors name the path.
package enum Files {
    /// Reads a file that programs write; `nil` if it does not exist.
    ///
    /// - Throws: `EFBIG` if it has more than `limit` bytes, `EISDIR` or `EINVAL` if it is not a regular file.
    @export(interface)
    package static func contents(
        _ path: String, limit: Int = longest
    ) throws(SystemError) -> [UInt8]? {
        var patience = Patience()
        while true {
            do throws(SystemError) { return try open(path, .read)?.readToEnd(limit: limit) } catch {
                // A network file system may have opened a file that another machine has just replaced.
                guard error.errno.saysReplaced, patience.wait() else { throw error }
            }
        }
    }

    /// The longest document, or other file that is read whole, in bytes.
    package static let longest = 1 << 24

    /// Reads a file that an operator writes, such as a configuration or a key; `nil` if it does not exist.
    ///
    /// - Throws: `EFBIG` if it is larger than ``longestOfOperator``, `ESPIPE` if it is not a file: a FIFO,
    ///   for example, could make the reader wait.
    @export(interface)
    package static func contents(ofOperatorFile path: String) throws(SystemError) -> [UInt8]? {
        guard let file = try open(path, .readAny) else { return nil }
        guard try file.isPlain() else { throw SystemError("read", path, .notAFile) }
        return try file.readToEnd(limit: longestOfOperator)
    }

    /// The longest file that an operator writes, in bytes.
    static let longestOfOperator = 1 << 20

    /// Throws what ``contents(ofOperatorFile:)`` would throw, for a library that reads the file by itself.
    ///
    /// - Returns: whether the file exists.
    package static func checkOperatorFile(_ path: String) throws(SystemError) -> Bool {
        try contents(ofOperatorFile: path) != nil
    }

    static func open(
        _ path: String, _ mode: FileDescriptor.Mode
    ) throws(SystemError) -> FileDescriptor? {
        do throws(SystemError) { return try FileDescriptor.open(path, mode) } catch {
            guard error.call == "open",
                error.errno == .noEntry || error.errno == .notDirectory
            else { throw error }
            return nil
        }
    }

    /// Replaces the file's bytes atomically and durably: writes a temporary file beside it, `fsync`,
    /// `rename`, `fsync` of the folder. Readers see the old bytes or the new ones.
    ///
    /// The caller must hold the lock that makes it the only writer. So the temporary name is fixed, and the
    /// next writer overwrites what a killed one has left.
    @export(interface)
    package static func replace(
        _ path: String, with bytes: [UInt8], durably: Bool = true
    ) throws(SystemError) {
        try prepare(path, with: bytes, durably: durably)
        try commit(path, durably: durably)
    }

    /// The first half of ``replace(_:with:durably:)``: writes the temporary file.
    @export(interface)
    package static func prepare(
        _ path: String, with bytes: [UInt8], durably: Bool = true
    ) throws(SystemError) {
        do throws(SystemError) {
            let file = try openTemporary(for: path)
            try file.write(bytes)
            if durably { try file.synchronize() }
        } catch {
            // Half a file would waste space on a disk that may be full.
            remove(temporary(for: path))
            throw error
        }
    }

    /// The same for contents that are too long for memory: `write` writes all of them to the file that it is
    /// given. If it throws, nothing is replaced.
    @export(interface)
    package static func replace(
        _ path: String, write: (FileDescriptor) throws(Failure) -> Void
    ) throws(Failure) {
        try prepare(path, write: write)
        try systemCalls { () throws(SystemError) in try commit(path) }
    }

    /// The first half of ``replace(_:write:)``: writes the temporary file, durably except for its name. If
    /// `write` throws, the file is removed.
    @export(interface)
    package static func prepare(
        _ path: String, write: (FileDescriptor) throws(Failure) -> Void
    ) throws(Failure) {
        let temporary = temporary(for: path)
        do throws(Failure) {
            let file = try systemCalls(openTemporary(for: path))
            try write(file)
            try systemCalls(file.synchronize())
        } catch {
            remove(temporary)
            throw error
        }
    }

    /// The second half of ``replace(_:write:)``: gives the temporary file its name.
    package static func commit(_ path: String, durably: Bool = true) throws(SystemError) {
        try rename(temporary(for: path), path)
        if durably { try synchronizeFolder(of: path) }
    }

    /// The name under which a file is written before ``commit(_:)`` gives it its own.
    package static func temporary(for path: String) -> String { path + ".new" }

    /// Opens the temporary file of a path. Anything in its place that we cannot write to, such as a FIFO or
    /// root's file, is removed: it was never committed.
    package static func openTemporary(for path: String) throws(SystemError) -> FileDescriptor {
        let path = temporary(for: path)
        do throws(SystemError) { return try FileDescriptor.open(path, .truncate) } catch {
            guard error.errno.isFileSpecific, remove(path) || removeAll(path) else { throw error }
            return try FileDescriptor.open(path, .truncate)
        }
    }

    /// The room that is left on the path's file system: bytes, and files. C: `statvfs(3)`.
    @export(interface)
    package static func room(at path: String) throws(SystemError) -> (bytes: UInt64, files: UInt64)
    {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SystemError("statvfs", path) }
        // File systems that create inodes as needed state no number.
        let files = status.f_files == 0 ? UInt64.max : UInt64(status.f_favail)
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return (overflow ? .max : bytes, files)
    }

    /// C: `rename(2)`.
    ///
    /// - Throws: an error with the path `from`, or with that of a folder that we may not change.
    package static func rename(_ from: String, _ to: String) throws(SystemError) {
        if CUnix.rename(from, to) == 0 { return }
        let errno = Errno.current
        guard errno == .noAccess else { throw SystemError("rename", from, errno) }
        let folders = [parent(of: from), parent(of: to)]
        throw SystemError("rename", folders.first { !isWritable($0) } ?? from, errno)
    }

    /// Moves a file or a folder. If the target is a folder already, what is in the folder is moved into it. A
    /// file replaces one of the same name.
    @export(interface)
    package static func merge(_ from: String, into target: String) throws(SystemError) {
        do throws(SystemError) { return try rename(from, target) } catch {
            guard [.exists, .notEmpty].contains(error.errno) else { throw error }
        }
        for name in try names(in: from) { try merge("\(from)/\(name)", into: "\(target)/\(name)") }
        try synchronizeFolder(target)
        removeEmptyFolder(from)
    }

    /// Makes the folder's names durable: those that were created, changed or removed.
    package static func synchronizeFolder(_ folder: String) throws(SystemError) {
        do throws(SystemError) { try FileDescriptor.open(folder, .folder).synchronize() } catch {
            // File systems answer this if names are always durable, or never.
            guard error.call == "fsync", [.notSupported, .invalid].contains(error.errno) else {
                throw error
            }
        }
    }

    /// Makes the name `path` durable in its folder.
    package static func synchronizeFolder(of path: String) throws(SystemError) {
        try synchronizeFolder(parent(of: path))
    }

    /// Removes a file if it is there. C: `unlink(2)`.
    @discardableResult
    package static func remove(_ path: String) -> Bool {
        unlink(path) == 0
    }

    /// Removes a file if it is there, for callers to whom it matters that it is gone. C: `unlink(2)`.
    ///
    /// - Returns: whether it was there.
    /// - Throws: an error if it could not be removed.
    @discardableResult
    package static func erase(_ path: String) throws(SystemError) -> Bool {
        if unlink(path) == 0 { return true }
        guard [.noEntry, .notDirectory].contains(Errno.current) else {
            throw SystemError("remove", path)
        }
        return false
    }

    /// Whether anything exists at the path. C: `access(2)`.
    package static func exists(_ path: String) throws(SystemError) -> Bool {
        if retried({ access(path, F_OK) }) == 0 { return true }
        guard [.noEntry, .notDirectory].contains(Errno.current) else {
            throw SystemError("find", path)
        }
        return false
    }

    /// Whether a file is found: `false` also if its folder cannot be entered. C: `access(2)`.
    package static func isFindable(_ path: String) -> Bool { retried { access(path, F_OK) } == 0 }

    /// Whether files can be created in a folder. C: `access(2)`.
    package static func isWritable(_ folder: String) -> Bool { access(folder, W_OK | X_OK) == 0 }

    /// Throws unless there is a folder that this account may list, enter and change. A disk that is mounted
    /// read-only is no error. C: `access(2)`.
    package static func checkFolder(_ folder: String) throws(SystemError) {
        for mode in [R_OK | W_OK | X_OK, R_OK | X_OK] {
            // The dot is for a folder only.
            if retried({ access("\(folder)/.", mode) }) == 0 { return }
            let errno = Errno.current
            guard errno == .readOnly else { throw SystemError("enter", folder, errno) }
        }
    }

    /// Whether the file's mode says that it is a program. C: `access(2)`.
    package static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    /// Creates a folder with mode 0700, and the missing ones above it. C: `mkdir(2)`.
    @export(interface)
    package static func makeFolder(_ path: String) throws(SystemError) {
        if mkdir(path, 0o700) == 0 { return try synchronizeNewFolder(path) }
        let errno = Errno.current
        if errno == .exists { return }
        guard errno == .noEntry, parent(of: path) != path else {
            throw SystemError("make folder", path, errno)
        }
        try makeFolder(parent(of: path))
        guard mkdir(path, 0o700) == 0 || Errno.current == .exists else {
            throw SystemError("make folder", path)
        }
        try synchronizeNewFolder(path)
    }

    /// A folder whose name is lost loses all that is in it. If the name cannot be made durable, the folder is
    /// removed again, so that the next caller does not take it for durable.
    private static func synchronizeNewFolder(_ path: String) throws(SystemError) {
        do throws(SystemError) { try synchronizeFolder(of: path) } catch {
            removeEmptyFolder(path)
            throw error
        }
    }

    /// The names in a folder, without `.` and `..`, in no order; an empty array if the folder is missing.
    /// C: `readdir(3)`.
    @export(interface)
    package static func names(in folder: String) throws(SystemError) -> [String] {
        let list = FolderList(folder)
        var names: [String] = []
        while let name = try list.next() { names.append(name) }
        return names
    }

    /// Those that are symbolic links, or that the file system does not tell from links.
    package static func namesOfPossibleLinks(in folder: String) throws(SystemError) -> [String] {
        let list = FolderList(folder)
        var names: [String] = []
        while let name = try list.next() {
            if list.isPossibleLink { names.append(name) }
        }
        return names
    }

    /// The path's folder: `.` for a bare name.
    package static func parent(of path: String) -> String {
        let bytes = Array(path.utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
    }

    /// The path's last part.
    package static func name(of path: String) -> String {
        let bytes = Array(path.utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(decoding: bytes[(slash + 1)...], as: UTF8.self)
    }

    /// Shows whether a file has changed, or another file has taken its name.
    package struct Stamp: Equatable, Sendable {
        package let inode: Int64
        /// In bytes.
        package let size: Int64
        /// When it was changed, by the system's clock since 1970. A file system may state any moment.
        package let seconds: Int64
        package let nanoseconds: Int64
    }

    /// `nil` if there is no such file or folder. C: `stat(2)`.
    private static func status(of path: String) throws(SystemError) -> stat? {
        var status = stat()
        guard retried({ stat(path, &status) }) == 0 else {
            guard [.noEntry, .notDirectory].contains(Errno.current) else {
                throw SystemError("find", path)
            }
            return nil
        }
        return status
    }

    /// The stamp of a file or folder; `nil` if it does not exist. C: `stat(2)`.
    package static func stamp(of path: String) throws(SystemError) -> Stamp? {
        guard let status = try status(of: path) else { return nil }
        let changed = status.st_mtim
        return Stamp(
            inode: Int64(status.st_ino), size: Int64(status.st_size),
            seconds: Int64(changed.tv_sec), nanoseconds: Int64(changed.tv_nsec))
    }

    /// Removes a temporary file that a killed program has left (`NAME.new`), unless it was written less than
    /// `age` ago by the system's clock. Any other file stays. An error is ignored.
    package static func removeLeftover(_ path: String, after age: Interval) {
        guard path.utf8.suffix(4).elementsEqual(".new".utf8) else { return }
        do throws(SystemError) {
            guard let stamp = try stamp(of: path),
                Timestamp.systemNow - Timestamp(seconds: stamp.seconds) > age
            else { return }
            remove(path)
        } catch {}
    }

    /// When a file or folder was last changed, created or moved, by the system's clock; `nil` if it does not
    /// exist. C: `stat(2)`.
    package static func changed(_ path: String) throws(SystemError) -> Timestamp? {
        guard let status = try status(of: path) else { return nil }
        return Timestamp(seconds: Int64(status.st_ctim.tv_sec))
    }

    /// Dates a file or folder of this account to now, as if it had just been changed. C: `utimensat(2)`.
    package static func dateNow(_ path: String) throws(SystemError) {
        guard retried({ utimensat(AT_FDCWD, path, nil, 0) }) == 0 else {
            throw SystemError("date", path)
        }
    }

    /// The owner; `nil` if there is no such file or folder. C: `stat(2)`.
    package static func owner(of path: String) throws(SystemError) -> (user: UInt32, group: UInt32)?
    {
        guard let status = try status(of: path) else { return nil }
        return (status.st_uid, status.st_gid)
    }

    /// The target of a symbolic link, such as the absolute path that `/proc/self/exe` names.
    /// C: `readlink(2)`.
    package static func target(ofLink path: String) -> String? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
            count = buffer.withMemoryRebound(to: CChar.self) {
                readlink(path, $0.baseAddress!, 4096)
            }
            filled = max(0, count)
        }
        return count > 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

extension Files {
    /// Removes a folder if it is empty. C: `rmdir(2)`.
    ///
    /// - Returns: whether it is gone.
    @discardableResult
    package static func removeEmptyFolder(_ folder: String) -> Bool {
        rmdir(folder) == 0 || Errno.current == .noEntry
    }

    /// Removes a folder and everything in it.
    ///
    /// - Returns: whether it is gone.
    @export(interface)
    package static func removeAll(_ folder: String) -> Bool {
        var inside: [String] = []
        do throws(SystemError) { inside = try names(in: folder) } catch {}
        for name in inside where !remove("\(folder)/\(name)") {
            _ = removeAll("\(folder)/\(name)")
        }
        return rmdir(folder) == 0 || Errno.current == .noEntry
    }

    /// Removes a folder and the files in it. Fails if there are folders in it. C: `rmdir(2)`.
    package static func removeFolder(_ folder: String) throws(SystemError) {
        for name in try names(in: folder) { remove("\(folder)/\(name)") }
        guard rmdir(folder) == 0 || Errno.current == .noEntry else {
            throw SystemError("remove", folder)
        }
    }
}
