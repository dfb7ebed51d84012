import JSON
import Turnstone
import Unix

/// The right to be the only drainer. It ends with the last reference to this object.
///
/// The file names the process that holds it and the time of that process's last sign of life:
package final class Election {
    private let file: FileDescriptor
    private let path: String
    private var last: Timestamp?

    init(_ file: FileDescriptor, at path: String) {
        self.file = file
        self.path = path
    }

    /// Whether the lock file is still the one in the state folder. It is not if the state folder was
    /// replaced, for example by a restored backup. Another process may be elected there.
    package var isCurrent: Bool {
        // If the file cannot be checked, assume that nothing has changed.
        do throws(SystemError) { return try file.isStill(at: path) } catch { return true }
    }

    /// Writes a sign of life, at most once a second.
    package func beat(at now: Timestamp) {
        if let last, (now - last).milliseconds >= 0, now - last < .seconds(1) { return }
        last = now
        let sign: JSONObject = [
            "pid": .integer(Int64(ThisProcess.id)), "beat": JSONValue(now),
        ]
        // A failed write does no harm: the next sign of life follows in a second.
        do throws(SystemError) {
            let bytes = line(sign)
            try file.write(bytes, at: 0)
            try file.truncate(to: bytes.count)
        } catch {}
    }

    /// Lets another process be elected. The sign of life is removed, so that nobody has to check whether it
    /// is an old one.
    package func end() {
        do throws(SystemError) { try file.truncate(to: 0) } catch {}
        file.unlock()
    }
}
