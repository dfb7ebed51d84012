import JSON
import Turnstone
import Unix

/// The right to be the only drainer of a queue. It ends with the last reference to this object.
///
/// The lock file names the process that holds it and the time of that process's last sign of life. It also has
/// the term: a number that is raised, durably, whenever somebody is elected although the last drainer has not
/// said that it ended. Such a drainer may only be frozen, on another host of a shared file system that has
/// given its lock away. When it goes on, it finds a higher term, and writes and sends nothing more.
package final class Election {
    private let file: FileDescriptor
    private let path: String
    package let term: Int64
    /// Whether this election raised the term.
    let isRaised: Bool
    private var last: Timestamp?

    /// - Parameter file: the lock file, locked.
    init(_ file: FileDescriptor, at path: String, lowest: () throws(Failure) -> Int64)
        throws(Failure)
    {
        self.file = file
        self.path = path
        let sign = try systemCalls(Sign(file))
        isRaised = sign?.hasEnded != true
        term = isRaised ? max(sign?.term ?? 0, try lowest()).saturatingAdd(1) : sign?.term ?? 0
        try systemCalls { () throws(SystemError) in
            try write([:])
            if isRaised { try file.synchronizeData() }
        }
    }

    /// Whether the lock file is still the one in the state folder. It is not if the state folder was
    /// replaced, for example by a restored backup. Another process may be elected there.
    package var isCurrent: Bool {
        // If the file cannot be checked, assume that nothing has changed.
        do throws(SystemError) { return try file.isStill(at: path) } catch { return true }
    }

    /// Checks that nobody else was elected meanwhile. The file is opened anew, because a network file system
    /// shows other hosts' changes only then.
    ///
    /// - Throws: later, if somebody was.
    package func checkTerm() throws(Failure) {
        let sign = try systemCalls { () throws(SystemError) in
            try Sign(try FileDescriptor.open(path, .read))
        }
        guard let sign, sign.term > term else { return }
        throw Failure(
            .later(seconds: 5),
            "unable to go on: another deliver was elected (term \(sign.term)) while this one (term \(term)) stood still",
            cause: "replaced")
    }

    /// Writes a sign of life, at most once a second.
    package func beat(at now: Timestamp) {
        if let last, (now - last).milliseconds >= 0, now - last < .seconds(1) { return }
        last = now
        // A failed write does no harm: the next sign of life follows in a second.
        do throws(SystemError) { try write(["beat": JSONValue(now)]) } catch {}
    }

    /// Lets another process be elected, and says that this one writes nothing more.
    package func end() {
        do throws(Failure) { try checkTerm() } catch {
            // The file belongs to somebody else.
            return file.unlock()
        }
        do throws(SystemError) {
            let text = line(["term": .integer(term), "ended": true])
            try file.write(text, at: 0)
            try file.truncate(to: text.count)
        } catch {}
        file.unlock()
    }

    private func write(_ members: JSONObject) throws(SystemError) {
        var sign: JSONObject = [
            "term": .integer(term), "host": .string(ThisMachine.name),
            "pid": .integer(Int64(ThisProcess.id)),
        ]
        for member in members.members { sign[member.name] = member.value }
        let text = JSON.text(.object(sign))
        // Always of the same length, so that one write replaces all of it.
        let blanks = [UInt8](
            repeating: UInt8(ascii: " "), count: max(0, Sign.length - text.count - 1))
        try file.write(text + blanks + [UInt8(ascii: "\n")], at: 0)
    }
}

extension Election {
    /// What a lock file says.
    struct Sign {
        /// 0 if an earlier version wrote it.
        let term: Int64
        /// When the drainer last gave a sign of life, and its process; `nil` if it has ended.
        let beat: Timestamp?
        let process: Int64?
        let hasEnded: Bool

        fileprivate static let length = 256

        /// - Returns: `nil` if the file says nothing.
        init?(_ file: FileDescriptor) throws(SystemError) {
            let bytes = try file.read(upTo: Self.length * 4, at: 0)
            guard let members = members(of: bytes[...]) else { return nil }
            term = members["term"]?.count ?? 0
            beat = members["beat"]?.timestamp
            process = members["pid"]?.integer
            hasEnded = members["ended"]?.bool == true
        }
    }
}
