import Drain
import Edge
import JSON
import Spool
import Turnstone
import Unix

/// The process that drains another queue, while there is one.
final class Companion {
    private let service: PushService
    private let spool: Spool
    private let log: Log
    private var running: (process: ChildProcess, output: FileDescriptor)?
    /// No process is started before this moment.
    private var nextStart = Instant.first
    private var pause = shortestPause

    /// The sums of what its processes have printed.
    private(set) var summary = JSONObject()
    /// Why the last process has failed.
    private(set) var failure: Failure?

    private static let shortestPause = Interval.seconds(1)

    init(_ service: PushService, _ spool: Spool, _ log: Log) {
        self.service = service
        self.spool = spool
        self.log = log
    }

    /// Starts a process if the queue has work and nobody drains it. A process that could do nothing is
    /// followed by the next one after a pause that doubles up to a minute.
    func startIfDue(at now: Timestamp) {
        _ = hasEnded(by: .now)
        guard running == nil, failure == nil, nextStart <= Instant.now else { return }
        nextStart = Instant.now + pause
        do throws(Failure) {
            guard try spool.hasWork(at: now), try !spool.isBeingDrained() else { return }
            try start()
        } catch { failure = error }
    }

    private func start() throws(Failure) {
        guard let executable = ThisProcess.executable else { return }
        let program = "\(Files.parent(of: executable))/\(service.drainerProgram)"
        // A host that has one program in each package starts this one on a schedule of its own.
        guard try systemCalls(Files.exists(program)) else { return }
        let environment =
            ThisProcess.environment.filter { $0.name != "TURNSTONE_QUEUE" }
            + [(name: "TURNSTONE_QUEUE", value: service.rawValue)]
        running = try systemCalls { () throws(SystemError) in
            let output = try FileDescriptor.inMemory(holding: [])
            let process = try ChildProcess.start(
                "\(Files.parent(of: executable))/\(service.drainerProgram)",
                environment: environment,
                output: .open(output), errors: .inherited)
            return (process, output)
        }
    }

    /// Waits for the process to end, if one is running.
    ///
    /// - Returns: whether none is running.
    func hasEnded(by deadline: Instant) -> Bool {
        guard let (process, output) = running else { return true }
        let patience = max(.seconds(0), deadline - .now)
        guard let code = process.end(within: patience) else { return false }
        running = nil
        let printed = printed(in: output)
        pause = printed.members.isEmpty ? min(pause + pause, .minutes(1)) : Self.shortestPause
        nextStart = .now + pause
        summary = summary.sum(with: printed)
        guard code != 0 else { return true }
        failure = Failure(
            code == 100 ? .broken : .later(seconds: 30),
            "unable to deliver all: the process for the queue \(service.rawValue) ended with \(code); its own line says why",
            cause: "child")
        return true
    }

    private func printed(in output: FileDescriptor) -> JSONObject {
        do {
            return try JSON.parse(output.read(upTo: 64 * 1024, at: 0)).object ?? [:]
        } catch { return [:] }
    }

    /// Asks the process to end.
    func terminate() { running?.process.end(by: .terminate) }
}
