import CUnix

/// The names in a folder, read a few at a time: a folder of a million files takes no more memory than one of
/// ten.
///
/// C: `readdir(3)`.
package final class FolderList {
    private let folder: String
    private var stream: OpaquePointer?
    /// Whether the last name is a symbolic link, or the file system does not say.
    private(set) var isPossibleLink = false

    package init(_ folder: String) {
        self.folder = folder
    }

    deinit { close() }

    /// The next name, in no order and without `.` and `..`; `nil` at the end, after which it starts again,
    /// and if the folder is missing. Names that are added or removed meanwhile may or may not appear.
    package func next() throws(SystemError) -> String? {
        // The stream, and the name in it, are freed with the object.
        defer { withExtendedLifetime(self) {} }
        if stream == nil { stream = try open() }
        guard let stream else { return nil }
        while true {
            // readdir(3) returns the same at the end and when it fails; only errno tells them apart.
            cunix_clear_errno()
            guard let entry = readdir(stream) else {
                let errno = Errno.current
                if errno == .interrupted { continue }
                close()
                guard errno.rawValue == 0 else { throw SystemError("list", folder, errno) }
                return nil
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
            guard name != ".", name != ".." else { continue }
            let kind = Int(entry.pointee.d_type)
            isPossibleLink = kind == Int(DT_LNK) || kind == Int(DT_UNKNOWN)
            return name
        }
    }

    private func open() throws(SystemError) -> OpaquePointer? {
        while true {
            if let stream = opendir(folder) { return stream }
            switch Errno.current {
            case .interrupted: continue
            case .noEntry: return nil
            default: throw SystemError("list", folder)
            }
        }
    }

    /// Removes the folder if it is empty and its list has grown to more than 1 MiB: most file systems never
    /// shrink the list, so reading an empty folder that once held a million names takes long.
    package func removeIfOversized() {
        do throws(SystemError) {
            guard let size = try Files.stamp(of: folder)?.size, size > 1 << 20 else { return }
        } catch { return }  // the next call tries again
        Files.removeEmptyFolder(folder)
    }

    private func close() {
        if let stream { closedir(stream) }
        stream = nil
    }
}
