import JSON
import Turnstone
import Unix

// What `health` has to know, noted where it happens: it looks at a few files, never at all users.

extension State {
    private var cyclePath: String { "\(folder)/cycle.json" }

    /// Notes that a cycle of `check-turns` has come to its end. It is said again in half a minute: not synced.
    package func noteCycle(at now: Timestamp) throws(Failure) {
        let note: JSONValue = ["version": 1, "completed_at": JSONValue(now)]
        // Two cycles may end at once.
        try Lock.holding("\(folder)/players.index") { (_) throws(Failure) in
            try systemCalls { () throws(SystemError) in
                try Files.replace(
                    cyclePath, with: JSON.text(note) + [UInt8(ascii: "\n")], durably: false)
            }
        }
    }

    /// When the last cycle came to its end; `nil` where none has, or nothing is known of it.
    package func lastCycle() throws(Failure) -> Timestamp? {
        let bytes = try systemCalls { () throws(SystemError) in try Files.contents(cyclePath) }
        do throws(JSONError) {
            return try bytes.flatMap { (bytes) throws(JSONError) in try JSON.parse(bytes) }?
                .object?["completed_at"]?.timestamp
        } catch { return nil }
    }

    /// Since when there are players to be looked at, by the system's clock; `nil` where there are none.
    package func watchesSince() throws(Failure) -> Timestamp? {
        try systemCalls { () throws(SystemError) in
            guard let index = try Files.stamp(of: "\(folder)/players.index"),
                index[1] > PlayerIndex.recordSize,
                let lock = try Files.stamp(of: "\(folder)/players.index.lock")
            else { return nil }
            return Timestamp(milliseconds: lock[2] * 1000)
        }
    }

    /// Notes that a document was moved out of the way. Where that fails the log has told it.
    static func noteSetAside(_ copy: String) {
        let line: JSONValue = ["at": JSONValue(.systemNow), "file": .string(copy)]
        do throws(SystemError) {
            // The state folder is the one with version.json: a shelf does not know it.
            var folder = Files.parent(of: copy)
            for _ in 0..<3 {
                if try Files.exists("\(folder)/version.json") { break }
                folder = Files.parent(of: folder)
            }
            try FileDescriptor.open("\(folder)/set-aside.jsonl", .append)
                .write(JSON.text(line) + [UInt8(ascii: "\n")])
        } catch {}
    }

    /// The documents that were moved out of the way and not restored, or whose damaged copy is still there.
    package func setAside() throws(Failure) -> [String] {
        let bytes = try systemCalls { () throws(SystemError) in
            try Files.contents("\(folder)/set-aside.jsonl")
        }
        var names: [String] = []
        for line in (bytes ?? []).split(separator: UInt8(ascii: "\n")).suffix(10_000) {
            var file: String?
            do throws(JSONError) {
                file = try JSON.parse(Array(line)).object?["file"]?.string
            } catch {
                continue
            }
            guard let file, let name = try inside(file) else { continue }
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// A path below the state folder, which may have been another one when it was noted.
    private func inside(_ path: String) throws(Failure) -> String? {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
            .map { String(decoding: Array($0), as: UTF8.self) }
        for count in 1...3 where parts.count >= count {
            let name = parts.suffix(count).joined(separator: "/")
            let isThere = try systemCalls { () throws(SystemError) in
                try Files.exists("\(folder)/\(name)")
            }
            if isThere { return name }
        }
        return nil
    }

    /// Writes a file and removes it.
    package func tryToWrite() throws(Failure) {
        let path = "\(folder)/trial.\(ThisProcess.id)"
        defer { Files.remove(path) }
        try systemCalls { () throws(SystemError) in
            try FileDescriptor.open(path, .anew).write([UInt8(ascii: "\n")])
        }
    }
}
