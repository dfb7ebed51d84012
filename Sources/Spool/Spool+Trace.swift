import Crypto
import Turnstone
import Unix

/// What became of a notification's way to one device, as far as it is known.
package struct DeliveryTrace: Equatable, Sendable {
    /// As ``DeviceToken/publicID``.
    package internal(set) var device = ""
    package internal(set) var user: String?
    /// How often a push service was asked.
    package internal(set) var attempts: Int64 = 0
    /// The last answer, or why there was none.
    package internal(set) var last: Timestamp?
    package internal(set) var status: Int64?
    package internal(set) var reason: String?
    /// `nil` where it has not ended.
    package internal(set) var outcome: Outcome?
    /// Whether it has ended otherwise than accepted, after an attempt that got no answer.
    package internal(set) var isInDoubt = false

    /// Whether anything is known of it.
    package var isKnown: Bool { !device.isEmpty }
}

/// What became of a message.
package struct NotificationTrace {
    /// By their numbers.
    package internal(set) var deliveries: [DeliveryTrace] = []
    /// How many of them have ended.
    fileprivate var endedCount = 0
    /// Whether every device has its outcome.
    package internal(set) var isFinished = false
    /// Whether its file is still in the spool.
    fileprivate var isInSpool = false
    /// To devices of users for whom it was held, in the order of their first answers.
    package internal(set) var released: [DeliveryTrace] = []
    fileprivate var releasedPlaces: [String: Int] = [:]
    /// By user and device, the numbers of those that were held.
    fileprivate var heldPlaces: [String: Int] = [:]
    /// Whether what is left is called off.
    package internal(set) var isCalledOff = false
    /// Whether its file was put aside, since it could not be read.
    package internal(set) var isDamaged = false

    /// Of a message that is for no device.
    package static let nothing = NotificationTrace(isFinished: true)

    /// Leaves out the devices of which nothing is known, where the first receipts are so old that they may have been removed.
    package mutating func forget() {
        guard !isInSpool, !isDamaged else { return }
        let count = deliveries.count
        deliveries.removeAll { $0.outcome == nil }
        isForgotten = count > 0 && deliveries.isEmpty && released.isEmpty
    }

    /// Whether nothing is known any more of any device.
    package private(set) var isForgotten = false
}

extension Spool {
    /// Where the receipts of what is accepted now will begin: no receipt of it comes before.
    ///
    /// - Parameter moment: before which it is not sent.
    package func receiptsStart(notBefore moment: Timestamp?, at now: Timestamp) throws(Failure)
        -> ReceiptLog.Position
    {
        let day = CalendarDate(moment ?? now).dayText
        if day > CalendarDate(now).dayText { return ReceiptLog.Position(day: day, offset: 0) }
        let log = ReceiptLog(state: Files.parent(of: folder))
        guard var last = try log.days().last else {
            return ReceiptLog.Position(day: day, offset: 0)
        }
        // A clock that was far ahead has left receipts that come after those of now.
        last = min(last, try log.page(at: now))
        let size = try systemCalls(Files.stamp(of: log.path(last))?.size ?? 0)
        // Half a line at the end goes when the next drainer begins.
        return ReceiptLog.Position(day: last, offset: max(0, Int(size) - 4096))
    }

    /// What became of a message, as the receipts and the spool tell. Takes no lock: what happens meanwhile may be
    /// missing in it.
    ///
    /// - Parameters:
    ///   - start: as ``receiptsStart(notBefore:at:)`` gave it.
    ///   - count: how many devices it has.
    ///   - isHeld: whether it is for more of them, whose users are told later.
    package func trace(
        _ id: String, from start: ReceiptLog.Position, devices count: Int, isHeld: Bool = false
    ) throws(Failure) -> NotificationTrace {
        var trace = NotificationTrace()
        trace.deliveries = Array(repeating: DeliveryTrace(), count: count)
        // The spool first: what leaves it meanwhile has all its receipts.
        trace.isInSpool = try readFile(of: id, into: &trace)
        let log = ReceiptLog(state: Files.parent(of: folder))
        try log.forEachLine(of: id, from: start) { (line) in
            trace.note(line)
            return trace.isComplete && !isHeld && trace.heldPlaces.isEmpty
        }
        if !trace.isComplete, !trace.isInSpool, count > 0 {
            // The clock was set back by days since it was accepted.
            try log.forEachLine(of: id, from: .beginning, before: start.day) { (line) in
                trace.note(line)
                return trace.isComplete && !isHeld
            }
        }
        try systemCalls { () throws(SystemError) in
            trace.isCalledOff = try Files.exists(callOffPath(of: id))
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
                trace.note(delivery, user: file.user(of: delivery))
            }
        } catch {
            // A drainer will set it aside.
            guard Damage.explains(error) else { throw error }
            trace.isDamaged = true
        }
        return true
    }
}

extension NotificationTrace {
    /// Whether nothing more is to come. Where the clock was set back by days, the last line may be in an earlier day's receipts
    /// than others.
    fileprivate var isComplete: Bool {
        isFinished && endedCount == deliveries.count
    }

    private mutating func note(_ line: JSONObject, of number: Int) {
        let hadEnded = deliveries[number].outcome != nil
        deliveries[number].note(line)
        if !hadEnded, deliveries[number].outcome != nil { endedCount += 1 }
    }

    fileprivate mutating func settleAsDamaged() {
        for number in deliveries.indices where deliveries[number].outcome == nil {
            deliveries[number].outcome = .damaged
        }
    }

    fileprivate mutating func note(_ delivery: Delivery, user: UserID?) {
        guard deliveries.indices.contains(delivery.number) else { return }
        deliveries[delivery.number].device =
            delivery.device ?? ""
        deliveries[delivery.number].user = user?.text
    }

    fileprivate mutating func note(_ line: JSONObject) {
        if line["finished_at"] != nil { isFinished = true }
        // What was set aside, mended and put back has lines behind that one.
        let isOfDamage = line["outcome"]?.string == Outcome.damaged.rawValue
        if isOfDamage || line["status"] != nil || isFinished { isDamaged = isOfDamage }
        if line["in"] != nil { return noteReleased(line) }
        guard let number = line["n"]?.integer.flatMap(Int.init(exactly:)),
            deliveries.indices.contains(number), line["at"] != nil
        else { return }
        note(line, of: number)
        if deliveries[number].outcome == .held { heldPlaces[name(of: line)] = number }
    }

    private func name(of line: JSONObject) -> String {
        "\(line["device_id"]?.string ?? "") \(line["user"]?.string ?? "")"
    }

    private mutating func noteReleased(_ line: JSONObject) {
        guard line["device_id"] != nil else { return noteGone(line) }
        let name = name(of: line)
        if let number = heldPlaces[name] { return note(line, of: number) }
        let place = releasedPlaces[name] ?? released.count
        if place == released.count {
            released.append(DeliveryTrace())
            releasedPlaces[name] = place
        }
        released[place].note(line)
    }

    /// Devices that a user had when a message was held, and not when it was released.
    private mutating func noteGone(_ line: JSONObject) {
        let name = " \(line["user"]?.string ?? "") \(line["in"]?.string ?? "")"
        guard let count = line["devices"]?.integer, (1...10_000).contains(count),
            releasedPlaces[name] == nil
        else { return }
        releasedPlaces[name] = released.count
        for _ in 0..<count {
            released.append(DeliveryTrace())
            released[released.count - 1].note(line)
        }
    }
}

extension DeliveryTrace {
    fileprivate mutating func note(_ line: JSONObject) {
        device = line["device_id"]?.string ?? device
        user = line["user"]?.string ?? user
        last = line["at"]?.timestamp
        status = line["status"]?.integer
        reason = line["reason"]?.string
        outcome = line["outcome"]?.string.flatMap(Outcome.init) ?? outcome
        isInDoubt = line["in_doubt"]?.bool ?? false
        if line["apns_id"] != nil { attempts += 1 }
    }
}

extension ReceiptLog.Position {
    /// Before the first receipt that there is.
    static let beginning = ReceiptLog.Position(day: "", offset: 0)

    /// Where a day's receipts begin.
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
