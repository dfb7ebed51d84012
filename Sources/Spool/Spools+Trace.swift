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
    ///   - isCancelled: whether what is held of it is cancelled.
    @export(interface)
    package func trace(
        _ id: String, from start: ReceiptsStart, devices count: Int, isHeld: Bool = false,
        isCancelled: Bool = false
    ) throws(Failure) -> NotificationTrace {
        var trace = try read(id, from: start, devices: count, isHeld: isHeld)
        var held = try whereabouts(of: id, trace)
        if !held.missing.isEmpty {
            // Its release is over by now, and the receipts say so.
            let before = held.missing
            trace = try read(id, from: start, devices: count, isHeld: isHeld)
            held = try whereabouts(of: id, trace)
            held.leave(held.missing.subtracting(before))
        }
        let isLost = !held.missing.isEmpty || trace.isMissing
        if count > 0, isLost, start != .beginning {
            // The clock was set back by days since it was accepted.
            let before = held.missing
            trace = try read(id, from: .beginning, devices: count, isHeld: isHeld)
            held = try whereabouts(of: id, trace)
            held.leave(held.missing.subtracting(before))
        }
        if trace.isMissing {
            for spool in try all() { trace.add(try spool.heldParts(of: id)) }
            held.leave(try whereabouts(of: id, trace).released)
        }
        if !trace.isComplete, !trace.isInSpool {
            // It may have been put off meanwhile, or it was never accepted.
            for spool in try all() where try spool.isOpen(id) { trace.isInSpool = true }
        }
        trace.didRelease(held.released)
        if !held.missing.isEmpty {
            for spool in try all() where try spool.hasClosedBoxes(among: held.missing) {
                held.missing = []
            }
        }
        let lacksReceipts = trace.isUnread && (trace.lacksDevices || !held.missing.isEmpty)
        trace.lacksReceipts = lacksReceipts
        if lacksReceipts { trace.nameReleased() }
        trace.settleHeld(goneFrom: held.missing, as: isCancelled ? .cancelled : .damaged)
        trace.forgetDamageIfRepaired()
        // What unreadable receipts say is as lost as what a damaged file said: nothing is gone, or still to come.
        if lacksReceipts || trace.isDamaged || trace.wasDamaged { trace.settleLostAsDamaged() }
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
        /// The boxes from which a release has taken it that is not over.
        var released: Set<String> = []
        /// The boxes in which it is not any more, without such a release.
        var missing: Set<String>

        /// Records boxes that it has just left with a release, which may be over already.
        mutating func leave(_ boxes: Set<String>) {
            missing.subtract(boxes)
            released.formUnion(boxes)
        }
    }

    private func whereabouts(
        of id: String, _ trace: NotificationTrace
    ) throws(Failure) -> Whereabouts {
        var found = Whereabouts(missing: trace.heldBoxes)
        // Boxes first: they become releases.
        for spool in try all() where !found.missing.isEmpty {
            found.missing.subtract(try spool.boxes(among: found.missing, with: id))
        }
        for spool in try all() where !found.missing.isEmpty {
            found.leave(try spool.releasedBoxes(of: id).intersection(found.missing))
        }
        return found
    }
}
