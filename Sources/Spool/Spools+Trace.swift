import Turnstone

extension Spools {
    /// A place before all receipts of a notification that is accepted now.
    ///
    /// - Parameter moment: the moment before which it is not sent.
    @export(interface)
    package func receiptsStart(
        notBefore moment: Timestamp?, at now: Timestamp
    ) throws(Failure) -> ReceiptsStart {
        var positions: [(queue: QueueName, position: ReceiptLog.Position)] = []
        for spool in try all() {
            positions.append(
                (spool.queue, try spool.receiptsStart(notBefore: moment, at: now)))
        }
        return ReceiptsStart(positions)
    }

    /// The fate of a message, according to the receipts and the queues. It takes no lock, so what happens
    /// meanwhile may be missing.
    ///
    /// - Parameters:
    ///   - start: the result of ``receiptsStart(notBefore:at:)``.
    ///   - count: the number of its devices.
    ///   - isHeld: whether it is also held for other devices, whose users get it later.
    @export(interface)
    package func trace(
        _ id: String, from start: ReceiptsStart, devices count: Int, isHeld: Bool = false
    ) throws(Failure) -> NotificationTrace {
        var trace = try read(id, from: start, devices: count, isHeld: isHeld)
        var held = try whereabouts(of: id, trace)
        // What is over, or held no more, has receipts that tell so: they were written meanwhile, or the clock was
        // set back by days since it was accepted.
        if count > 0, !trace.isComplete && !trace.isInSpool || held.isLost {
            trace = try read(id, from: .beginning, devices: count, isHeld: isHeld)
            held = try whereabouts(of: id, trace)
        }
        if !trace.isComplete, !trace.isInSpool {
            // It may have been put off meanwhile, or it was never accepted.
            for spool in try all() where try spool.isOpen(id) { trace.isInSpool = true }
        }
        if held.releases > 0 { trace.didRelease(held.missing) }
        // What unreadable receipts say is as lost as what a damaged file said: nothing is gone, or still to come.
        let lacksReceipts = trace.isUnread && !trace.isComplete
        if lacksReceipts || trace.isDamaged { trace.settleAsDamaged() }
        // What still waits can be sent, and cancelled.
        if lacksReceipts, !trace.isInSpool { trace.isDamaged = true }
        return trace
    }

    private func read(
        _ id: String, from start: ReceiptsStart, devices count: Int, isHeld: Bool
    ) throws(Failure) -> NotificationTrace {
        var trace = NotificationTrace()
        trace.deliveries = Array(repeating: DeliveryTrace(), count: count)
        let spools = try all()
        _ = try completeJoint(id)
        for spool in spools where isHeld || !trace.isComplete || !trace.heldPlaces.isEmpty {
            try spool.trace(id, from: start[spool.queue], isHeld: isHeld, into: &trace)
        }
        return trace
    }

    /// Where a message is that is held according to the receipts.
    private struct Whereabouts {
        /// The boxes in which it is not any more.
        var missing: Set<String>
        /// How many releases it is in.
        var releases = 0

        /// Whether it is in fewer releases than boxes it has left.
        var isLost: Bool { missing.count > releases }
    }

    private func whereabouts(
        of id: String, _ trace: NotificationTrace
    ) throws(Failure) -> Whereabouts {
        var found = Whereabouts(missing: trace.heldBoxes)
        guard !found.missing.isEmpty else { return found }
        // Boxes first: they become releases.
        let spools = try all()
        for spool in spools {
            found.missing.subtract(try spool.boxes(among: found.missing, with: id))
        }
        for spool in spools { found.releases += try spool.releases(of: id) }
        return found
    }
}
