import Turnstone
import Unix

extension Spools {
    private var erasuresPath: String { "\(folder)/erasures" }

    /// The number of users erased so far. A program that accepts a notification without holding the locks of
    /// its users' documents reads this before it reads the documents: a user who is erased meanwhile must not
    /// be named again.
    package func erasures() throws(Failure) -> Int64 {
        let bytes = try systemCalls(Files.contents(erasuresPath, limit: 64))
        return bytes.flatMap { Int64(String(decoding: $0.dropLast(), as: UTF8.self)) } ?? 0
    }

    func checkNoErasure(since known: Int64) throws(Failure) {
        guard try erasures() != known else { return }
        throw Failure(
            .later(seconds: 1),
            "unable to accept the notification: a user was erased at the same moment; repeat the request",
            cause: FailureCause.busy)
    }

    /// Counts an erasure. The program that holds the elections and has taken the user's devices calls it
    /// before ``Elections/erase(_:tokens:opponents:at:takeBack:report:)``. It is not needed for a user without
    /// a document, because no program can have begun a notification for that user.
    package func countErasure() throws(Failure) {
        let next = try erasures() &+ 1
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(folder)
            try Files.replace(erasuresPath, with: Array("\(next)\n".utf8), durably: false)
        }
    }

    /// Waits for the elections of all queues, and asks running drainers to end. They leave everything that
    /// they have not sent in the queues.
    ///
    /// - Throws: later, if a drainer has not ended after 8 s.
    @export(interface)
    package func electionsStoppingDrainers() throws(Failure) -> Elections {
        let elections = Elections()
        do throws(Failure) {
            try stopDrainers(of: { () throws(Failure) in try all() }, into: elections)
        } catch {
            elections.end()
            throw error
        }
        return elections
    }

    /// Adds the elections of queues that have begun since. To be called after ``countErasure()``: from then
    /// on nobody can begin another one for the user.
    package func stopNewDrainers(into elections: Elections) throws(Failure) {
        try stopDrainers(of: { () throws(Failure) in try all() }, into: elections)
    }

    /// Waits for the elections of queues, and asks running drainers to end.
    func stopDrainers(
        of queues: () throws(Failure) -> [Spool], into elections: Elections
    ) throws(Failure) {
        let start = Instant.now
        var asked: [OtherProcess] = []
        while true {
            // All are asked before any is waited for.
            var isWaiting = false
            for spool in try queues() where !elections.hold(spool.queue) {
                if let election = try spool.election() {
                    spool.withdrawRequest()
                    elections.add(spool, election)
                    continue
                }
                isWaiting = true
                guard let process = try spool.drainer() else {
                    try spool.askToEnd()
                    continue
                }
                guard !asked.contains(process) else { continue }
                asked.append(process)
                process.terminate()
            }
            guard isWaiting else { return }
            guard Instant.now - start < .milliseconds(8000) else {
                let process = asked.last.map { "process \($0.id)" } ?? "it"
                throw Failure(
                    .later(seconds: 5),
                    "unable to stop deliver: \(process) has not ended within 8 s; repeat the request",
                    cause: FailureCause.busy)
            }
            sleep(for: .milliseconds(20))
        }
    }
}
