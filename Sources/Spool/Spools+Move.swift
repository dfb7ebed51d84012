import Turnstone
import Unix

// TURNSTONE_SHARDS may change while notifications wait. The queues that were made for another number are the
// former ones. Before a drainer sends anything, it moves their notifications to the present queues, so that a
// user's pushes stay in order. Only the holder of a former queue's election moves anything out of it.

extension Spools {
    /// The queues of a service that were made for another number of queues.
    func former(of service: PushService) throws(Failure) -> [Spool] {
        try all().filter { $0.service == service && $0.queue.count != shards }
    }

    /// Removes the receipts of a service's former queues that are older than receipts are kept.
    package func removeOldReceipts(
        of service: PushService, at now: Timestamp
    ) throws(Failure) {
        for spool in try former(of: service) {
            try ReceiptLog(of: spool).removeOldWithoutDrainer(at: now)
        }
    }

    /// Whether anything in a service's former queues must be moved.
    package func hasFormerWork(of service: PushService) throws(Failure) -> Bool {
        for spool in try former(of: service) where try spool.hasAnything() { return true }
        return false
    }

    /// Whether the drainer of a queue would find something to do. The first queue's drainer looks after the
    /// former ones, too.
    package func hasWork(for spool: Spool, at now: Timestamp) throws(Failure) -> Bool {
        if try spool.hasWork(at: now) { return true }
        guard spool.queue.number == 1 else { return false }
        return try hasFormerWork(of: spool.service)
    }

    /// Moves everything that waits in a service's former queues to the present ones. Waits while another
    /// process does so, and asks drainers of former queues to end.
    ///
    /// - Parameters:
    ///   - takeBack: called for each notification that is found to be damaged.
    ///   - report: called with the failure of each file that cannot be moved.
    /// - Throws: later, if a drainer of a former queue has not ended after 8 s.
    @export(interface)
    package func moveFormer(
        of service: PushService, at now: Timestamp, takeBack: @escaping TakeBackBadges,
        report: @escaping (Failure) -> Void
    ) throws(Failure) -> FormerWork {
        guard try hasFormerWork(of: service) else { return .none }
        let lock = try systemCalls(
            FileDescriptor.open("\(folder)/\(service.rawValue).moving", .update))
        guard try systemCalls(lock.lock(patience: .minutes(1))) else {
            throw Failure(
                .later(seconds: 5),
                "unable to begin: another process moves notifications to the \(shards) queues of \(service.rawValue); this one tries again later",
                cause: FailureCause.busy)
        }
        defer { lock.unlock() }
        guard try hasFormerWork(of: service) else { return .moved }
        let elections = Elections()
        defer { elections.end() }
        try stopDrainers(of: { () throws(Failure) in try former(of: service) }, into: elections)
        // A move may have been killed after it had accepted something in its new queues.
        completeJoints(report: report)
        try elections.move(to: self, at: now, takeBack: takeBack, report: report)
        return try hasFormerWork(of: service) ? .left : .moved
    }

    /// What a move found in a service's former queues.
    package enum FormerWork {
        /// Nothing was to be moved.
        case none
        /// Everything was moved, here or by another process meanwhile.
        case moved
        /// Something is left, which cannot be moved now.
        case left
    }
}

extension Spool {
    /// Whether anything waits or is held, due or not.
    func hasAnything() throws(Failure) -> Bool {
        if try hasReady() { return true }
        if try holdsAnything() { return true }
        for folder in try waitingFolders() {
            if try hasNotification("\(waiting)/\(folder.name)") { return true }
        }
        return false
    }
}
