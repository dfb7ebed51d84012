import JSON
import Turnstone
import Unix

/// The right to be the one drainer, given up with the last reference to it.
///
/// Its file says who holds it and when that process last gave a sign of life:
/// `{"pid": 4711, "beat": 1795262400000}`.
package final class Election {
    private let file: FileDescriptor
    private let path: String
    private var last: Timestamp?

    init(_ file: FileDescriptor, at path: String) {
        self.file = file
        self.path = path
    }

    /// Whether the lock is still the state folder's: not where another folder, such as a restored backup, has
    /// taken its place, in which another process may be elected.
    package var isCurrent: Bool {
        // What cannot be looked at has not changed, as far as anybody knows.
        do throws(SystemError) { return try file.isStill(at: path) } catch { return true }
    }

    /// Gives a sign of life, at most one a second.
    package func beat(at now: Timestamp) {
        if let last, (now - last).milliseconds >= 0, now - last < .seconds(1) { return }
        last = now
        let sign: JSONObject = [
            "pid": .integer(Int64(ThisProcess.id)), "beat": JSONValue(now),
        ]
        // It says nothing but that this process is alive: what cannot be written now is soon written again.
        do throws(SystemError) {
            let bytes = line(sign)
            try file.write(bytes, at: 0)
            try file.truncate(to: bytes.count)
        } catch {}
    }

    /// Lets another process be elected. No sign of life stays: nobody has to find out whether it is an old
    /// one.
    package func end() {
        do throws(SystemError) { try file.truncate(to: 0) } catch {}
        file.unlock()
    }
}
