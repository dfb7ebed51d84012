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
    ///   - accepted: when it was accepted.
    @export(interface)
    package func trace(
        _ id: String, from start: ReceiptsStart, devices count: Int, isHeld: Bool = false,
        accepted: Timestamp, at now: Timestamp
    ) throws(Failure) -> NotificationTrace {
        var trace = NotificationTrace()
        trace.deliveries = Array(repeating: DeliveryTrace(), count: count)
        let spools = try all()
        _ = try completeJoint(id)
        for spool in spools where isHeld || !trace.isComplete || !trace.heldPlaces.isEmpty {
            try spool.trace(id, from: start[spool.queue], isHeld: isHeld, into: &trace)
        }
        if count > 0, try mayHaveEarlierReceipts(id, trace, accepted: accepted, at: now) {
            for spool in spools {
                try spool.traceEarlier(
                    id, before: start[spool.queue], isHeld: isHeld, into: &trace)
            }
        }
        if !trace.isComplete, !trace.isInSpool {
            // It may have been put off meanwhile, or it was never accepted.
            for spool in spools where try spool.isOpen(id) { trace.isInSpool = true }
        }
        // What unreadable receipts say is as lost as what a damaged file said: nothing is gone, or still to come.
        let lacksReceipts = trace.isUnread && !trace.isComplete
        if lacksReceipts || trace.isDamaged { trace.settleAsDamaged() }
        // What still waits can be sent, and cancelled.
        if lacksReceipts, !trace.isInSpool { trace.isDamaged = true }
        return trace
    }

    /// Whether receipts of a message may be of days before the one on which it was accepted, because the clock
    /// was set back by days since.
    private func mayHaveEarlierReceipts(
        _ id: String, _ trace: NotificationTrace, accepted: Timestamp, at now: Timestamp
    ) throws(Failure) -> Bool {
        let isSetBack = CalendarDate(now).dayText < CalendarDate(accepted).dayText
        if !trace.isComplete, isSetBack || !trace.isInSpool { return true }
        // What the receipts call held, but is not held any more, was released.
        var held = trace.heldBoxes
        if held.isEmpty { return false }
        var releases = 0
        for spool in try all() {
            held.subtract(try spool.boxes(among: held, with: id))
            releases += try spool.releases(of: id)
        }
        return held.count > releases
    }
}
