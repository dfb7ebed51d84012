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

    fileprivate init(_ file: FileDescriptor, at path: String) {
        self.file = file
        self.path = path
    }

    /// Whether the lock is still the state folder's: not where another folder, such as a restored backup, has taken its
    /// place, in which another process may be elected.
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

    /// Lets another process be elected. No sign of life stays: nobody has to find out whether it is an old one.
    package func end() {
        do throws(SystemError) { try file.truncate(to: 0) } catch {}
        file.unlock()
    }
}

/// A drainer that holds the election and gives no sign of life.
package struct StuckDrainer: Equatable, Sendable {
    package let process: Int
    package let since: Timestamp

    /// The longest time one step of a drainer may take: it waits for locks, and for a slow disk.
    package static let patience = Interval.seconds(60)
}

extension Spool {
    private var lockPath: String { "\(folder)/drainer.lock" }

    /// The right to be the drainer, or `nil` where another process has it.
    package func election() throws(Failure) -> Election? {
        try systemCalls { () throws(SystemError) -> Election? in
            try Files.makeFolder(folder)
            while true {
                let file = try FileDescriptor.open(lockPath, .update)
                // Somebody may hold it for an instant, to see whether anybody does.
                guard try file.lock(patience: .milliseconds(5)) else { return nil }
                if try file.isStill(at: lockPath) { return Election(file, at: lockPath) }
                try Files.makeFolder(folder)
            }
        }
    }

    /// The drainer that does nothing any more though nobody else may do its work, if there is one.
    package func stuckDrainer(at now: Timestamp) throws(Failure) -> StuckDrainer? {
        guard let stuck = try silentDrainer(at: now) else { return nil }
        // After a crash the old sign is there until whoever is elected next gives one, and after the clock was set
        // back until the drainer's next round.
        sleep(for: .milliseconds(stuck.since > now ? 1500 : 100))
        guard try silentDrainer(at: now) == stuck else { return nil }
        return StuckDrainer(process: stuck.process, since: min(stuck.since, now))
    }

    private func silentDrainer(at now: Timestamp) throws(Failure) -> StuckDrainer? {
        let bytes = try systemCalls(Files.contents(lockPath))
        guard let members = bytes.flatMap({ members(of: $0[...]) }),
            let beat = members["beat"]?.timestamp,
            let process = members["pid"]?.integer,
            now - beat > StuckDrainer.patience || beat - now > StuckDrainer.patience
        else { return nil }
        let isHeld = try systemCalls(FileDescriptor.open(lockPath, .read).isLocked())
        return isHeld ? StuckDrainer(process: Int(process), since: beat) : nil
    }
}
