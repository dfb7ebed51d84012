import Turnstone
import Unix

extension Spool {
    /// A position before all receipts of a notification that is accepted now.
    ///
    /// - Parameter moment: the moment before which it is not sent.
    @export(interface)
    package func receiptsStart(notBefore moment: Timestamp?, at now: Timestamp) throws(Failure)
        -> ReceiptLog.Position
    {
        let day = CalendarDate(moment ?? now).dayText
        if day > CalendarDate(now).dayText { return ReceiptLog.Position(day: day) }
        let log = ReceiptLog(of: self)
        // If the clock was far ahead once, there may be receipts of later days.
        let last = try log.dayToContinue(at: now)
        let files = try log.files()
        let newest = files.volumes.last { $0.day <= last }
        // Whoever set a file aside began another term.
        let later = files.setAside.map { $0.volume.next }.filter { $0.day <= last }.max()
        if let later, newest.map({ $0 < later }) ?? true {
            return ReceiptLog.Position(volume: later, offset: 0)
        }
        guard let volume = newest else { return ReceiptLog.Position(day: day) }
        var size: Int64 = 0
        do throws(SystemError) { size = try Files.stamp(of: log.path(volume))?.size ?? 0 } catch {
            // A drainer sets it aside.
            guard error.errno.concernsOneFile else { throw error.failure }
        }
        // A little before the end, because the next drainer of the same term removes half a line there.
        return ReceiptLog.Position(volume: volume, offset: max(0, Int(size) - 4096))
    }

    /// Adds what is known of a message in this queue.
    ///
    /// - Parameter isHeld: whether it is also held for other devices, whose users get it later.
    func trace(
        _ id: String, from start: ReceiptLog.Position, isHeld: Bool,
        into trace: inout NotificationTrace
    ) throws(Failure) {
        // The spool first: a notification that leaves it meanwhile has all its receipts.
        if try readFile(of: id, into: &trace) { trace.isInSpool = true }
        let isOtherPartDamaged = trace.isDamaged
        trace.isDamaged = false
        let isWhole = try ReceiptLog(of: self).forEachLine(of: id, from: start) { (line) in
            trace.add(line)
            return trace.isComplete && !isHeld && trace.heldPlaces.isEmpty
        }
        if !isWhole { trace.isUnread = true }
        if try systemCalls(Files.exists(cancellationPath(of: id))) { trace.isCancelled = true }
        if try isSetAside(id) { trace.isDamaged = true }
        trace.isDamaged = trace.isDamaged || isOtherPartDamaged
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
            trace.isUnreadable = true
        }
        return true
    }
}

extension ReceiptLog.Position {
    /// The position before all receipts.
    static let beginning = ReceiptLog.Position(day: "")

    /// The position where a day's receipts begin.
    package init(dayOf moment: Timestamp) { self.init(day: CalendarDate(moment).dayText) }

    /// Whether it is the beginning of a day. As the place of an acceptance, it says that the queue had no receipts
    /// then: all that it has may be later, also of an earlier day, because the clock may have been ahead.
    var isOfEmptyQueue: Bool { volume.term == 0 && offset == 0 }

    init(day: String) { self.init(volume: ReceiptLog.Volume(day: day, term: 0), offset: 0) }

    /// Earlier versions had no terms.
    package init?(_ json: JSONValue) {
        guard let members = json.object, let day = members["day"]?.string,
            let offset = members["offset"]?.integer.flatMap(Int.init(exactly:)), offset >= 0
        else { return nil }
        let term = members["term"]?.integer ?? 0
        self.init(volume: ReceiptLog.Volume(day: day, term: term), offset: offset)
    }

    package var json: JSONValue {
        [
            "day": .string(day), "term": .integer(volume.term),
            "offset": .integer(Int64(offset)),
        ]
    }
}
