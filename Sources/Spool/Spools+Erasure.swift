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
            cause: "busy")
    }

    /// Counts an erasure. The program that holds the elections and has taken the user's devices calls it
    /// before ``Elections/erase(_:opponents:at:report:)``. It is not needed for a user without a document,
    /// because no program can have begun a notification for that user.
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

    /// Adds the elections of queues that have begun since. To be called after ``countErasure()``: from then on
    /// nobody can begin another one for the user.
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
                    elections.add(spool, election)
                    continue
                }
                isWaiting = true
                guard let process = try spool.drainer(), !asked.contains(process) else { continue }
                asked.append(process)
                process.terminate()
            }
            guard isWaiting else { return }
            guard Instant.now - start < .milliseconds(8000) else {
                let process = asked.last.map { "process \($0.id)" } ?? "it"
                throw Failure(
                    .later(seconds: 5),
                    "unable to stop deliver: \(process) has not ended within 8 s; repeat the request",
                    cause: "busy")
            }
            sleep(for: .milliseconds(20))
        }
    }
}

/// The right to be the drainer of every queue.
package final class Elections {
    private var held: [(spool: Spool, election: Election)] = []
    /// What an erasure found in each queue.
    private var erased: [Spool.Erased] = []

    fileprivate func hold(_ queue: QueueName) -> Bool {
        held.contains { $0.spool.queue == queue }
    }

    fileprivate func add(_ spool: Spool, _ election: Election) { held.append((spool, election)) }

    /// Cancels everything that waits for the user. Removes the user from notifications that are for others as
    /// well, and from the receipts that a drainer may still write. The lines of receipts stay where they are.
    ///
    /// After a crash, call it again to finish.
    ///
    /// - Parameters:
    ///   - opponents: players whose turn notices may name the user.
    ///   - report: called for each file that could not be read. The user is erased from the others all the
    ///     same.
    package func erase(
        _ user: UserID, opponents: [UserID], at now: Timestamp,
        report: @escaping (Failure) -> Void
    ) throws(Failure) {
        erased = []
        for (spool, election) in held {
            erased.append(
                try spool.erase(
                    user, opponents: opponents, elected: election, at: now, report: report))
        }
    }

    /// Erases the user from the receipts of earlier days. No drainer writes to them, so delivery may go on
    /// meanwhile: call it after ``end()``.
    ///
    /// - Returns: what this and ``erase(_:opponents:at:report:)`` found.
    package func eraseClosedReceipts(
        of user: UserID, report: @escaping (Failure) -> Void
    ) throws(Failure) -> Spool.Erased {
        var all = Spool.Erased()
        for (number, (spool, _)) in held.enumerated() where erased.indices.contains(number) {
            try spool.eraseClosedReceipts(of: user, after: &erased[number], report: report)
            all.add(erased[number])
        }
        return all
    }

    /// Moves everything that waits in these queues, all of one service, to the present ones.
    func move(
        to spools: Spools, at now: Timestamp, report: @escaping (Failure) -> Void
    ) throws(Failure) {
        guard let service = held.first?.spool.service else { return }
        try QueueMove(held, of: service, to: spools, at: now, report: report).run()
    }

    /// Lets other processes be elected.
    package func end() { for (_, election) in held { election.end() } }
}
