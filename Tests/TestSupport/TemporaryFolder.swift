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

    /// Writes a program, such as a shell script, that is executed by whoever finds it here.
    package func writeProgram(_ text: String, to name: String) throws {
        try make(
            #"mkdir -p "${0%/*}" && cat >"$0" && chmod 755 "$0""#, ["\(path)/\(name)"],
            input: Array(text.utf8))
    }

    /// Copies a program.
    ///
    /// - Parameter program: its path.
    package func copyProgram(_ program: String, to name: String) throws {
        try make(#"cp "$0" "$1""#, [program, "\(path)/\(name)"])
    }

    /// Makes a program by a process of its own. What this one has open for writing, a child that another
    /// thread has just started has open too, and what is open for writing cannot be executed (`ETXTBSY`).
    private func make(_ command: String, _ arguments: [String], input: [UInt8] = []) throws {
        let ended = try Programs.start(
            at: "/bin/sh", ["-c", command] + arguments, input: input,
            entries: ["PATH=/usr/bin:/bin"]
        ).end()
        guard ended.exitCode == 0 else { throw TestFailure(ended.stderr) }
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
