import Turnstone
import Unix

/// A worker as the trial sees it: a process that does what it is told, with one of the mounts.
final class Partner {
    private let process: ChildProcess
    private var commands: FileDescriptor?
    private let replies: FileDescriptor
    private var pending: [UInt8] = []
    private var hasEnded = false

    /// How long a worker may say nothing. Longer than any of its own waits.
    private static let patience = Interval.minutes(2)

    /// - Parameter folder: the trial's folder as this worker's mount shows it.
    init(in folder: String) throws(Failure) {
        (process, commands, replies) = try systemCalls { () throws(SystemError) in
            let down = try FileDescriptor.pipe()
            let up = try FileDescriptor.pipe()
            let process = try ChildProcess.start(
                ThisProcess.executable ?? ThisProcess.name, ["--worker", folder],
                input: .open(down.reader), output: .open(up.writer), errors: .inherited)
            return (process, down.writer, up.reader)
        }
    }

    deinit { kill() }

    /// Gives a command. Its answer comes by ``answer()``.
    func tell(_ command: String) throws(TrialError) {
        try tried { () throws(SystemError) in
            try commands?.write(Array("\(command)\n".utf8))
        }
    }

    @discardableResult
    func ask(_ command: String) throws(TrialError) -> String {
        try tell(command)
        return try answer()
    }

    /// Waits for the answer to the last command.
    func answer() throws(TrialError) -> String {
        while true {
            let line = try nextLine()
            let rest = String(line.drop { $0 != " " }.dropFirst())
            switch line.prefix(while: { $0 != " " }) {
            case "ok": return rest
            case "broken": throw .broken(rest)
            case "later": throw .untried(rest, isTemporary: true)
            case "never": throw .untried(rest, isTemporary: false)
            default: continue  // it is alive
            }
        }
    }

    private func nextLine() throws(TrialError) -> String {
        var start = Instant.now
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending = Array(pending[(end + 1)...]) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            guard !ThisProcess.isTerminationRequested else {
                throw .untried("ended by a signal", isTemporary: true)
            }
            guard Instant.now - start < Self.patience else {
                throw .broken("a process that uses it hangs")
            }
            guard replies.isReadable(within: .milliseconds(300)) else { continue }
            let more = try tried(replies.read(upTo: 4096))
            guard !more.isEmpty else { throw .untried("a worker has ended", isTemporary: true) }
            pending += more
            start = .now
        }
    }

    /// Ends the process at once, with whatever it holds.
    func kill() {
        guard !hasEnded else { return }
        hasEnded = true
        commands = nil
        process.end(by: .kill)
        // One that hangs in a system call cannot be ended.
        _ = process.end(within: .seconds(5))
    }
}
