import Edge
import JSON
import Spool
import Turnstone
import Unix

/// The process that drains another queue, while there is one.
final class Companion {
    let spool: Spool
    private let spools: Spools
    private let log: Log
    private var running: (process: ChildProcess, output: FileDescriptor)?
    private(set) var restarts = Restarts()
    /// Whether its program is not beside this one.
    private(set) var isMissing = false

    private var hasLookedForStuck = false

    /// The sums of what its processes have printed.
    private(set) var summary = JSONObject()

    init(_ spool: Spool, _ spools: Spools, _ log: Log) {
        self.spool = spool
        self.spools = spools
        self.log = log
    }

    /// Why the last process has failed.
    var failure: Failure? { restarts.failure }

    /// Starts a process if the queue has work and nobody drains it.
    func startIfDue(at now: Timestamp) {
        _ = hasEnded(by: .now)
        guard running == nil, !isMissing, restarts.next <= Instant.now else { return }
        do throws(Failure) {
            guard try spools.hasWork(for: spool, at: now) else { return }
            if try spool.isBeingDrained() { return try reportIfStuck(at: now) }
            try start()
        } catch { restarts.ended(doingNothing: true, error) }
    }

    /// Once, because a process that lives for days would repeat it each second.
    private func reportIfStuck(at now: Timestamp) throws(Failure) {
        guard !hasLookedForStuck else { return }
        hasLookedForStuck = true
        try Drainer.reportStuckDrainer(of: spool, at: now, to: log)
    }

    private func start() throws(Failure) {
        guard let executable = ThisProcess.executable else { return isMissing = true }
        let name = spool.service.drainerProgram
        let program = "\(Files.parent(of: executable))/\(name)"
        guard try systemCalls(Files.exists(program)) else {
            isMissing = true
            log.event(
                "left a queue alone, because its program is not beside this one: start that on a schedule of its own",
                ["queue": .string(spool.queue.text), "program": .string(name)])
            return
        }
        let environment =
            ThisProcess.environment.filter { $0.name != "TURNSTONE_QUEUE" }
            + [(name: "TURNSTONE_QUEUE", value: spool.queue.text)]
        running = try systemCalls { () throws(SystemError) in
            let output = try FileDescriptor.inMemory(holding: [])
            let process = try ChildProcess.start(
                program, environment: environment, output: .open(output), errors: .inherited)
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
        summary = summary.sum(with: printed)
        restarts.ended(doingNothing: printed.members.isEmpty, failure(ofProcessWith: code))
        return true
    }

    private func failure(ofProcessWith code: Int32) -> Failure? {
        guard code != 0 else { return nil }
        return Failure(
            code == 100 ? .broken : .later(seconds: 30),
            "unable to deliver all: the process for the queue \(spool.queue.text) ended with \(code); its own line says why",
            cause: "child")
    }

    private func printed(in output: FileDescriptor) -> JSONObject {
        do {
            return try JSON.parse(output.read(upTo: 64 * 1024, at: 0)).object ?? [:]
        } catch { return [:] }
    }

    /// Asks the process to end.
    func terminate() { running?.process.end(by: .terminate) }
}
