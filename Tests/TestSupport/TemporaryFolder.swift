import Foundation

/// A folder of one test's own, which goes with the value's last reference.
package final class TemporaryFolder: Sendable {
    /// An absolute path without a slash at its end.
    package let path: String

    package init() {
        var template = Array("\(NSTemporaryDirectory())/turnstone-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { fatalError("unable to make a temporary folder") }
        path = URL(fileURLWithPath: String(cString: made)).standardizedFileURL.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file at a path relative to the folder, and makes the folders above it.
    package func write(_ bytes: [UInt8], to name: String) throws {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    package func write(_ text: String, to name: String) throws {
        try write(Array(text.utf8), to: name)
    }

    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }

    /// Lets a file have been written so many hours ago.
    package func age(_ name: String, hours: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3600 * hours)],
            ofItemAtPath: "\(path)/\(name)")
    }

    /// The file's bytes; `nil` if there is no file.
    package func read(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(path)/\(name)").map { Array($0) }
    }

    /// Every file in the folder and those in it, by its path relative to the folder, without the counts of
    /// requests: every request changes them.
    package func files() -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder),
                !isFolder.boolValue, !["requests.limit", "registrations.limit"].contains(name)
            else { continue }
            files[name] = read(name) ?? []
        }
        return files
    }
}
