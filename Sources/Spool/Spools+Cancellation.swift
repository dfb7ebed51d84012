import Turnstone

extension Spools {
    /// Cancels a notification's deliveries that have not been sent. A push whose answer was lost counts as
    /// sent, because it may have arrived.
    ///
    /// If drainers are running, waits up to 2 s for each to cancel them.
    ///
    /// - Parameter takeBack: called once the receipts say what is cancelled, before a part of the
    ///   notification ends.
    /// - Returns: whether the receipts say what became of it. If not, they soon will.
    @export(interface)
    package func cancel(
        _ id: String, at now: Timestamp,
        takeBack: @escaping TakeBackBadges
    ) throws(Failure) -> Bool {
        var isSettled = true
        var told: Set<QueueName> = []
        while true {
            let spools = try spools(thatMayGet: id).filter { !told.contains($0.queue) }
            // All queues are told before any drainer is waited for.
            for spool in spools { try spool.markCancelled(id) }
            for spool in spools {
                told.insert(spool.queue)
                if try !spool.cancel(id, at: now, takeBack: takeBack) { isSettled = false }
            }
            // It may be moved to other queues meanwhile, if their number has changed.
            guard !spools.isEmpty, try all().contains(where: { $0.queue.count != shards }) else {
                if !told.isEmpty { try removeThrottle(of: id) }
                return isSettled
            }
        }
    }

    /// Removes what cancellations that were interrupted have left of notifications that are gone.
    package func removeLeftCancellations() throws(Failure) {
        for spool in try all() { try spool.removeLeftCancellations() }
    }
}
