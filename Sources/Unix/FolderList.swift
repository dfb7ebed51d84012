import CUnix

/// The names in a folder, a few at a time, however many there are: a folder of a million files costs no
/// more memory than one of ten.
///
/// C: `readdir(3)`.
package final class FolderList {
    private let folder: String
    private var stream: OpaquePointer?

    package init(_ folder: String) {
        self.folder = folder
    }

    deinit { close() }

    /// The next name, in no order and without `.` and `..`; `nil` at the end, after which it begins anew,
    /// and where the folder is missing. What is added or removed meanwhile may be among them.
    package func next() throws(SystemError) -> String? {
        // The stream and the name in it go with the object.
        defer { withExtendedLifetime(self) {} }
        if stream == nil { stream = try open() }
        guard let stream else { return nil }
        while true {
            // At the end and where it fails readdir(3) gives the same; only errno tells.
            cunix_clear_errno()
            guard let entry = readdir(stream) else {
                let errno = Errno.current
                if errno == .interrupted { continue }
                close()
                guard errno.rawValue == 0 else { throw SystemError("list", folder, errno) }
                return nil
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
            if name != ".", name != ".." { return name }
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

    /// Removes the folder if nothing is in it and it has grown to more than a megabyte: most file systems never
    /// make a folder's list shorter, so that reading an empty one that once held a million names takes long.
    package func removeIfWorn() {
        do throws(SystemError) {
            guard let size = try Files.stamp(of: folder)?.size, size > 1 << 20 else { return }
        } catch { return }  // it can be worn for another while
        Files.removeEmptyFolder(folder)
    }

    private func close() {
        if let stream { closedir(stream) }
        stream = nil
    }
}
