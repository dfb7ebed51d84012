import Turnstone

/// The right to be the drainer of every queue.
package final class Elections {
    private var held: [(spool: Spool, election: Election)] = []
    /// The findings of an erasure in each queue.
    private var erased: [Spool.Erased] = []

    func hold(_ queue: QueueName) -> Bool {
        held.contains { $0.spool.queue == queue }
    }

    func add(_ spool: Spool, _ election: Election) { held.append((spool, election)) }

    /// Cancels everything that waits for the user. Removes the user from notifications that are for others as
    /// well, and from the receipts that a drainer may still write. The lines of receipts stay where they are.
    ///
    /// After a crash, call it again to finish.
    ///
    /// - Parameters:
    ///   - tokens: the user's that no other user may have, as far as they are known.
    ///   - opponents: players whose turn notices may name the user.
    ///   - takeBack: called for each notification of others that is found to be damaged.
    ///   - report: called for each file that could not be read. The user is erased from the others all the
    ///     same.
    @export(interface)
    package func erase(
        _ user: UserID, tokens: [DeviceToken], opponents: [UserID], at now: Timestamp,
        takeBack: @escaping TakeBackBadges, report: @escaping (Failure) -> Void
    ) throws(Failure) {
        erased = []
        for (spool, election) in held {
            erased.append(
                try spool.erase(
                    user, tokens: tokens, opponents: opponents, elected: election, at: now,
                    takeBack: takeBack, report: report))
        }
    }

    /// Erases the user from the receipts of earlier days. No drainer writes to them, so delivery may go on
    /// meanwhile: call it after ``end()``.
    ///
    /// - Returns: what this and ``erase(_:tokens:opponents:at:takeBack:report:)`` found.
    @export(interface)
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
        to spools: Spools, at now: Timestamp, takeBack: @escaping TakeBackBadges,
        report: @escaping (Failure) -> Void
    ) throws(Failure) {
        guard let service = held.first?.spool.service else { return }
        let move = try QueueMove(
            held, of: service, to: spools, at: now, takeBack: takeBack, report: report)
        try move.run()
    }

    /// Lets other processes be elected.
    package func end() { for (_, election) in held { election.end() } }
}
