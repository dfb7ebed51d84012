import JSON
import Turnstone
import Unix

/// The right to be the only drainer of a queue. It ends with the last reference to this object.
///
/// The lock file names the process that holds it and the time of that process's last sign of life. It also
/// has the term: a number that is raised, durably, whenever somebody is elected although the last drainer has
/// not said that it ended. Such a drainer may only be frozen, on another host of a shared file system that has
/// given its lock away. When it goes on, it finds a higher term, and writes and sends nothing more. A drainer
/// that sets receipts of its own term aside raises it, too (``raise()``).
package final class Election {
    private let file: FileDescriptor
    private let path: String
    package private(set) var term: Int64
    /// Whether the term was raised when this process was elected.
    let isRaised: Bool
    /// The last sign of life, by the clock that dates it and by this process's own.
    private var last: (at: Timestamp, moment: Instant)?
    /// Whether somebody else was elected.
    private var isLost = false

    /// - Parameters:
    ///   - file: the lock file, locked.
    ///   - highest: the highest term that was used, as far as other files say. The lock file may have been
    ///     removed, or restored from a backup.
    init(_ file: FileDescriptor, at path: String, highest: Int64) throws(Failure) {
        self.file = file
        self.path = path
        // Opened with the lock held: a network file system shows what another machine wrote only then.
        let sign = try systemCalls { () throws(SystemError) in
            try Sign(try FileDescriptor.open(path, .read))
        }
        let last = sign?.term ?? 0
        isRaised = sign?.hasEnded != true || highest > last
        term = isRaised ? max(last, highest).saturatingAdd(1) : last
        try systemCalls { () throws(SystemError) in
            try write([:])
            // On disk even if the term goes on: a network file system may show other machines a write only
            // then. One that still sees that the last drainer has ended would take the same term.
            try file.synchronizeData()
            if isRaised { try Files.synchronizeFolder(of: path) }
        }
    }

    /// Whether the lock file is still the one in the state folder, and nobody else was elected as far as this
    /// process knows. It is not if the state folder was replaced, for example by a restored backup. Another
    /// process may be elected there.
    package var isCurrent: Bool {
        if isLost { return false }
        // If the file cannot be checked, assume that nothing has changed.
        do throws(SystemError) { return try file.isStill(at: path) } catch { return true }
    }

    /// The cause of the failure of ``checkTerm()``.
    package static let replaced = "replaced"

    /// Checks that nobody else was elected meanwhile. The file is opened anew, because a network file system
    /// shows other hosts' changes only then.
    ///
    /// - Throws: later, if somebody was.
    @export(interface)
    package func checkTerm() throws(Failure) {
        let sign = try systemCalls { () throws(SystemError) in
            try Sign(try FileDescriptor.open(path, .read))
        }
        guard isLost || sign.map({ $0.term > term }) == true else { return }
        isLost = true
        throw Failure(
            .later(seconds: 5),
            "stopped: another deliver was elected while this one (term \(term)) stood still",
            cause: Self.replaced)
    }

    /// Raises the term, so that what is written from now on is in files of its own.
    func raise() throws(Failure) {
        try checkTerm()
        term = term.saturatingAdd(1)
        last = nil
        try systemCalls { () throws(SystemError) in
            try write([:])
            try file.synchronizeData()
        }
    }

    /// Writes a sign of life, at most once a second.
    ///
    /// - Throws: what ``checkTerm()`` throws: the file may be somebody else's by now.
    package func beat(at now: Timestamp) throws(Failure) {
        // By this process's own clock, too: the other one may have been set back, or stand still.
        let moment = Instant.now
        if let last, (now - last.at).milliseconds >= 0, now - last.at < .seconds(1),
            moment - last.moment < .seconds(1)
        {
            return
        }
        try checkTerm()
        last = (now, moment)
        // On disk before anything else is done: a network file system's client that is frozen with a write in
        // its memory writes it when it goes on, over the term of the process that was elected meanwhile. A
        // failed write does no harm: the next sign of life follows in a second.
        do throws(SystemError) {
            try write(["beat": JSONValue(now)])
            try file.synchronizeData()
        } catch {}
    }

    /// Lets another process be elected, and says that this one writes nothing more.
    package func end() {
        do throws(Failure) { try checkTerm() } catch {
            // The file belongs to somebody else.
            return file.unlock()
        }
        do throws(SystemError) { try write(["ended": true]) } catch {}
        file.unlock()
    }

    /// What asks this drainer to end, as ``Sign/request``.
    var request: [UInt8] { JSON.text(.object(names)) }

    private var names: JSONObject {
        [
            "term": .integer(term), "host": .string(ThisMachine.name),
            "pid": .integer(Int64(ThisProcess.id)),
        ]
    }

    private func write(_ members: JSONObject) throws(SystemError) {
        var sign = names
        sign["layout"] = .integer(StateLayout.version)
        for member in members.members { sign[member.name] = member.value }
        let text = JSON.text(.object(sign))
        // Always of the same length, so that one write replaces all of it.
        let blanks = [UInt8](
            repeating: UInt8(ascii: " "), count: max(0, Sign.length - text.count - 1))
        try file.write(text + blanks + [UInt8(ascii: "\n")], at: 0)
    }
}

extension Election {
    /// The contents of a lock file.
    struct Sign {
        /// 0 if an earlier version wrote it.
        let term: Int64
        /// When the drainer last gave a sign of life; `nil` before the first, and once it has ended.
        let beat: Timestamp?
        let process: Int64?
        /// The machine that it ran on, if it is known to be another one.
        let otherHost: String?
        /// Whether it ran on this machine, as far as is known.
        var isHere: Bool { otherHost == nil }
        let hasEnded: Bool
        /// The text that asks this very drainer to end.
        let request: [UInt8]

        fileprivate static let length = 256

        /// - Returns: `nil` if the file says nothing.
        init?(_ file: FileDescriptor) throws(SystemError) {
            let bytes = try file.read(upTo: Self.length * 4, at: 0)
            guard let members = members(of: bytes[...]) else { return nil }
            term = members["term"]?.count ?? 0
            beat = members["beat"]?.timestamp
            hasEnded = members["ended"]?.bool == true
            process = members["pid"]?.integer
            let host = members["host"]?.string
            otherHost = host == ThisMachine.name ? nil : host
            var names: JSONObject = [:]
            for name in ["term", "host", "pid"] { names[name] = members[name] }
            request = JSON.text(.object(names))
        }
    }
}
