import CUnix
import Turnstone

/// The file system's verbs, each with the path in its error.
package enum Files {
    /// The bytes of a file that programs have written, or `nil` where there is none.
    ///
    /// - Throws: `EFBIG` for one of more than `limit` bytes, `EISDIR` or `EINVAL` for what is no regular file.
    package static func contents(
        _ path: String, limit: Int = longest
    ) throws(SystemError) -> [UInt8]? {
        try open(path, .read)?.readToEnd(limit: limit)
    }

    /// What no document, and nothing else that is read whole, may exceed.
    package static let longest = 1 << 24

    /// The bytes of a file that a person has written, such as a configuration or a key, or `nil` where there is none.
    ///
    /// - Throws: `EFBIG` for one of more than a megabyte, `ESPIPE` for what is no file, such as a FIFO, which could make
    ///   whoever opens it wait.
    package static func writtenContents(_ path: String) throws(SystemError) -> [UInt8]? {
        guard let file = try open(path, .readAny) else { return nil }
        guard try file.isPlain() else { throw SystemError("read", path, .isNoFile) }
        return try file.readToEnd(limit: 1 << 20)
    }

    /// Finds out what ``writtenContents(_:)`` would throw, for a library that reads the file by itself.
    ///
    /// - Returns: whether there is such a file.
    package static func isReadable(_ path: String) throws(SystemError) -> Bool {
        try writtenContents(path) != nil
    }

    static func open(
        _ path: String, _ mode: FileDescriptor.Mode
    ) throws(SystemError) -> FileDescriptor? {
        do throws(SystemError) { return try FileDescriptor.open(path, mode) } catch {
            guard error.errno == .noEntry || error.errno == .notDirectory else { throw error }
            return nil
        }
    }

    /// Makes `path` hold `bytes`, at one instant and durably: a temporary file beside it, `fsync`,
    /// `rename`, `fsync` of the folder. Whoever reads sees the old bytes or the new ones.
    ///
    /// The caller holds the lock that makes it the only writer, so the temporary name is fixed and a
    /// killed writer's leftover is overwritten by the next.
    package static func replace(
        _ path: String, with bytes: [UInt8], durably: Bool = true
    ) throws(SystemError) {
        let temporary = path + ".new"
        do throws(SystemError) {
            let file = try openTemporary(temporary)
            try file.write(bytes)
            if durably { try file.synchronize() }
        } catch {
            remove(temporary)  // half a file takes up room on a disk that may be full
            throw error
        }
        try rename(temporary, path)
        if durably { try synchronizeFolder(of: path) }
    }

    /// The same for contents that are too long for memory: `write` writes all of them to the file that it is given. If it
    /// throws, nothing is replaced.
    package static func replace(
        _ path: String, write: (FileDescriptor) throws(Failure) -> Void
    ) throws(Failure) {
        try prepare(path, write: write)
        try systemCalls { () throws(SystemError) in try commit(path) }
    }

    /// The first half of ``replace(_:write:)``: writes the temporary file, durably except for its name. If `write` throws, the
    /// file is removed.
    package static func prepare(
        _ path: String, write: (FileDescriptor) throws(Failure) -> Void
    ) throws(Failure) {
        let temporary = path + ".new"
        do throws(Failure) {
            let file = try systemCalls(openTemporary(temporary))
            try write(file)
            try systemCalls(file.synchronize())
        } catch {
            remove(temporary)
            throw error
        }
    }

    /// The second half of ``replace(_:write:)``: gives the temporary file its name.
    package static func commit(_ path: String) throws(SystemError) {
        try rename(path + ".new", path)
        try synchronizeFolder(of: path)
    }

    /// Opens a temporary file. Whatever lies there and is not ours to write, such as a FIFO or root's file, goes: it was
    /// never committed.
    private static func openTemporary(_ path: String) throws(SystemError) -> FileDescriptor {
        do throws(SystemError) { return try FileDescriptor.open(path, .anew) } catch {
            guard error.errno.isOfTheFile, remove(path) || removeAll(path) else { throw error }
            return try FileDescriptor.open(path, .anew)
        }
    }

    /// How much may still be written to the file system that holds the path: bytes, and files.
    /// C: `statvfs(3)`.
    package static func room(at path: String) throws(SystemError) -> (bytes: UInt64, files: UInt64)
    {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SystemError("statvfs", path) }
        // File systems that make inodes as they need them state none.
        let files = status.f_files == 0 ? UInt64.max : UInt64(status.f_favail)
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return (overflow ? .max : bytes, files)
    }

    /// C: `rename(2)`.
    package static func rename(_ from: String, _ to: String) throws(SystemError) {
        guard CUnix.rename(from, to) == 0 else { throw SystemError("rename", from) }
    }

    /// Makes names made, changed or removed in the folder durable.
    package static func synchronizeFolder(_ folder: String) throws(SystemError) {
        do throws(SystemError) { try FileDescriptor.open(folder, .folder).synchronize() } catch {
            // What a file system answers that keeps names safe by itself, or cannot.
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

    /// Whether there is something at the path. C: `access(2)`.
    package static func exists(_ path: String) throws(SystemError) -> Bool {
        if retried({ access(path, F_OK) }) == 0 { return true }
        guard [.noEntry, .notDirectory].contains(Errno.current) else {
            throw SystemError("find", path)
        }
        return false
    }

    /// Whether files can be made in a folder. C: `access(2)`.
    package static func isWritable(_ folder: String) -> Bool { access(folder, W_OK | X_OK) == 0 }

    /// Whether it is a program, as far as its mode tells. C: `access(2)`.
    package static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    /// Makes a folder with mode 0700 and those above it where they are missing. C: `mkdir(2)`.
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

    /// A folder whose name is lost loses all in it. Where the name cannot be made durable, the folder goes again, so
    /// that whoever makes it next does not take it for safe.
    private static func synchronizeNewFolder(_ path: String) throws(SystemError) {
        do throws(SystemError) { try synchronizeFolder(of: path) } catch {
            removeEmptyFolder(path)
            throw error
        }
    }

    /// The names in a folder, without `.` and `..`, in no order; none where it is missing.
    /// C: `readdir(3)`.
    package static func names(in folder: String) throws(SystemError) -> [String] {
        let list = FolderList(folder)
        var names: [String] = []
        while let name = try list.next() { names.append(name) }
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

    /// What tells a file from what it was before, and from another that took its name.
    package struct Stamp: Equatable, Sendable {
        package let inode: Int64
        /// In bytes.
        package let size: Int64
        /// When it was changed, since 1970 by the system's clock: a file system may state any moment.
        package let seconds: Int64
        package let nanoseconds: Int64
    }

    /// `nil` where there is no such file or folder. C: `stat(2)`.
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

    /// The stamp of a file or folder; `nil` where there is none. C: `stat(2)`.
    package static func stamp(of path: String) throws(SystemError) -> Stamp? {
        guard let status = try status(of: path) else { return nil }
        let changed = status.st_mtim
        return Stamp(
            inode: Int64(status.st_ino), size: Int64(status.st_size),
            seconds: Int64(changed.tv_sec), nanoseconds: Int64(changed.tv_nsec))
    }

    /// When a file or folder was changed, made or moved last, by the system's clock; `nil` where there is none. C: `stat(2)`.
    package static func changed(_ path: String) throws(SystemError) -> Timestamp? {
        guard let status = try status(of: path) else { return nil }
        return Timestamp(seconds: Int64(status.st_ctim.tv_sec))
    }

    /// Whose it is; `nil` where there is none. C: `stat(2)`.
    package static func owner(of path: String) throws(SystemError) -> (user: UInt32, group: UInt32)?
    {
        guard let status = try status(of: path) else { return nil }
        return (status.st_uid, status.st_gid)
    }

    /// Makes an absolute path of what a symbolic link (such as `/proc/self/exe`) names.
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
    /// Removes a folder if nothing is in it. C: `rmdir(2)`.
    ///
    /// - Returns: whether it is gone.
    @discardableResult
    package static func removeEmptyFolder(_ folder: String) -> Bool {
        rmdir(folder) == 0 || Errno.current == .noEntry
    }

    /// Removes a folder and all in it.
    ///
    /// - Returns: whether it is gone.
    package static func removeAll(_ folder: String) -> Bool {
        var inside: [String] = []
        do throws(SystemError) { inside = try names(in: folder) } catch {}
        for name in inside where !remove("\(folder)/\(name)") {
            _ = removeAll("\(folder)/\(name)")
        }
        return rmdir(folder) == 0 || Errno.current == .noEntry
    }

    /// Removes a folder and the files in it, but no folders in it. C: `rmdir(2)`.
    package static func removeFolder(_ folder: String) throws(SystemError) {
        for name in try names(in: folder) { remove("\(folder)/\(name)") }
        guard rmdir(folder) == 0 || Errno.current == .noEntry else {
            throw SystemError("remove", folder)
        }
    }
}
