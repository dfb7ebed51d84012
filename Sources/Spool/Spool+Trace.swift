import Crypto
import Turnstone
import Unix

extension Spool {
    /// A position before all receipts of a notification that is accepted now.
    ///
    /// - Parameter moment: the moment before which it is not sent.
    package func receiptsStart(notBefore moment: Timestamp?, at now: Timestamp) throws(Failure)
        -> ReceiptLog.Position
    {
        let day = CalendarDate(moment ?? now).dayText
        if day > CalendarDate(now).dayText { return ReceiptLog.Position(day: day, offset: 0) }
        let log = ReceiptLog(state: Files.parent(of: folder))
        guard var last = try log.days().last else {
            return ReceiptLog.Position(day: day, offset: 0)
        }
        // If the clock was far ahead once, there may be receipts of later days.
        last = min(last, try log.dayToContinue(at: now))
        let size = try systemCalls(Files.stamp(of: log.path(last))?.size ?? 0)
        // A little before the end, because the next drainer removes half a line there.
        return ReceiptLog.Position(day: last, offset: max(0, Int(size) - 4096))
    }

    /// What became of a message, according to the receipts and the spool. It takes no lock, so what happens
    /// meanwhile may be missing.
    ///
    /// - Parameters:
    ///   - start: the result of ``receiptsStart(notBefore:at:)``.
    ///   - count: the number of its devices.
    ///   - isHeld: whether it is also held for other devices, whose users get it later.
    package func trace(
        _ id: String, from start: ReceiptLog.Position, devices count: Int, isHeld: Bool = false
    ) throws(Failure) -> NotificationTrace {
        var trace = NotificationTrace()
        trace.deliveries = Array(repeating: DeliveryTrace(), count: count)
        // The spool first: a notification that leaves it meanwhile has all its receipts.
        trace.isInSpool = try readFile(of: id, into: &trace)
        let log = ReceiptLog(state: Files.parent(of: folder))
        try log.forEachLine(of: id, from: start) { (line) in
            trace.add(line)
            return trace.isComplete && !isHeld && trace.heldPlaces.isEmpty
        }
        if !trace.isComplete, !trace.isInSpool, count > 0 {
            // The clock may have been set back by days since it was accepted.
            try log.forEachLine(of: id, from: .beginning, before: start.day) { (line) in
                trace.add(line)
                return trace.isComplete && !isHeld
            }
        }
        try systemCalls { () throws(SystemError) in
            trace.isCancelled = try Files.exists(cancellationPath(of: id))
            if try Files.exists("\(folder)/failed/\(id).jsonl") { trace.isDamaged = true }
        }
        if trace.isDamaged { trace.settleAsDamaged() }
        return trace
    }

    /// - Returns: whether it is in the spool.
    private func readFile(
        of id: String, into trace: inout NotificationTrace
    ) throws(Failure) -> Bool {
        guard let path = try path(of: id) else { return false }
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return false }
            while let delivery = try file.next() {
                trace.add(delivery, user: file.user(of: delivery))
            }
        } catch {
            // A drainer will set it aside.
            guard Damage.explains(error) else { throw error }
            trace.isDamaged = true
        }
        return true
    }
}

extension ReceiptLog.Position {
    /// The position before all receipts.
    static let beginning = ReceiptLog.Position(day: "", offset: 0)

    /// The position where a day's receipts begin.
    package init(dayOf moment: Timestamp) {
        self.init(day: CalendarDate(moment).dayText, offset: 0)
    }

    package init?(_ json: JSONValue) {
        guard let day = json.object?["day"]?.string,
            let offset = json.object?["offset"]?.integer.flatMap(Int.init(exactly:)), offset >= 0
        else { return nil }
        self.init(day: day, offset: offset)
    }

    package var json: JSONValue {
        ["day": .string(day), "offset": .integer(Int64(offset))]
    }
}
