import Spool
import Store
import Turnstone

/// What became of a message.
struct Report {
    private let id: String
    private let record: MessageRecord
    private let trace: NotificationTrace

    enum State: String {
        /// It waits for its moment, or for the push service.
        case waiting
        /// Some devices have their outcome.
        case sending
        /// It is called off, and a push is just under way.
        case cancelling
        /// It was called off before all of it had gone out.
        case cancelled
        case done
        /// It cannot be read any more, and was put aside.
        case damaged
    }

    /// - Throws: not found where no message has this id, or it is forgotten.
    init(of id: String, _ state: Store.State) throws(Failure) {
        guard let record = try state.messages.find(id) else {
            throw .refused(.notFound, "there is no message with this id")
        }
        try self.init(id, record, Spool(state: state.folder))
    }

    private init(_ id: String, _ record: MessageRecord, _ spool: Spool) throws(Failure) {
        self.id = id
        self.record = record
        guard record.place != nil || record.held > 0,
            let start = ReceiptLog.Position(record.receipts)
        else {
            trace = NotificationTrace.nothing
            return
        }
        trace = try spool.trace(
            id, from: start, devices: record.devices, isHeld: record.held > 0)
    }

    /// Calls off what has not gone out, and tells what became of it.
    static func callingOff(
        _ id: String, _ state: Store.State, at now: Timestamp
    ) throws(Failure) -> Report {
        let spool = Spool(state: state.folder)
        let unknown = Failure.refused(.notFound, "there is no message with this id")
        // An unknown one leaves no lock behind.
        guard try state.messages.find(id) != nil else { throw unknown }
        return try state.messages.holding(id) { () throws(Failure) in
            guard var record = try state.messages.find(id) else { throw unknown }
            let start = try spool.receiptsStart(notBefore: nil, at: now)
            if let moment = record.sendAfter, now < moment, record.place != nil {
                // Its receipts begin earlier now than they would have.
                if ReceiptLog.Position(record.receipts).map({ start < $0 }) ?? true {
                    record.receipts = start.json
                    try state.messages.write(record, of: id)
                }
            }
            if record.held > 0, record.calledOff == nil {
                record.calledOff = now
                try state.messages.write(record, of: id)
            }
            _ = try spool.cancel(id, at: now)
            return try Report(id, record, spool)
        }
    }

    private var deliveries: [DeliveryTrace] { trace.deliveries + trace.released }

    /// A damaged notification does not tell all of its devices.
    private var known: [DeliveryTrace] {
        trace.isDamaged ? deliveries.filter { $0.isKnown } : deliveries
    }

    private func count(_ outcome: Outcome?) -> Int {
        deliveries.count { $0.outcome == outcome } + (outcome == .cancelled ? heldBack : 0)
    }

    /// How many devices its users' quiet hours still keep it from.
    private var held: Int { record.calledOff == nil ? rest : 0 }
    /// How many devices it was called off for while their users' quiet hours kept it from them.
    private var heldBack: Int { record.calledOff == nil ? 0 : rest }
    private var rest: Int { max(0, record.held - trace.released.count) }

    /// Whether there are devices without an outcome.
    var isOpen: Bool { count(nil) + held > 0 && !trace.isDamaged }

    var state: State {
        if trace.isDamaged { return .damaged }
        if !isOpen { return count(.cancelled) > 0 ? .cancelled : .done }
        if trace.isCalledOff { return .cancelling }
        return count(nil) == deliveries.count ? .waiting : .sending
    }

    var json: JSONValue {
        var members: JSONObject = [
            "success": true, "id": .string(id), "state": .string(state.rawValue),
            "kind": .string(record.kind), "acceptedAt": text(record.accepted),
        ]
        members["sendAfter"] = record.sendAfter.map { text($0) }
        members["counts"] = counts
        members["devices"] = .array(known.prefix(Self.most).map { json(of: $0) })
        let omitted = known.count - Self.most
        if omitted > 0 { members["omitted"] = .integer(Int64(omitted)) }
        return .object(members)
    }

    /// More devices than this are only counted: an answer is made in memory.
    private static let most = 10_000

    private var counts: JSONValue {
        var counts = JSONObject()
        for outcome in Outcome.all where count(outcome) > 0 {
            counts[outcome.rawValue] = .integer(Int64(count(outcome)))
        }
        if count(nil) > 0 { counts["waiting"] = .integer(Int64(count(nil))) }
        if record.skipped > 0 { counts["skipped"] = .integer(Int64(record.skipped)) }
        if held > 0 { counts["held"] = .integer(Int64(held)) }
        return .object(counts)
    }

    private func json(of delivery: DeliveryTrace) -> JSONValue {
        var members: JSONObject = ["id": .string(delivery.device)]
        members["user"] = delivery.user.map { .string($0) }
        members["state"] = .string(delivery.outcome?.rawValue ?? "waiting")
        members["attempts"] = .integer(delivery.attempts)
        members["at"] = delivery.last.map { text($0) }
        members["status"] = delivery.status.map { .integer($0) }
        members["reason"] = delivery.reason.map { .string($0) }
        return .object(members)
    }

    private func text(_ moment: Timestamp) -> JSONValue {
        .string(CalendarDate(moment).millisecondText)
    }
}
