import Edge
import Queueing
import Spool
import Store
import Turnstone

/// The report on a message.
package struct Report {
    private let id: String
    package let record: MessageRecord
    private let trace: NotificationTrace

    package enum State: String {
        /// Waiting for its moment or for the push service.
        case waiting
        /// Some devices have an outcome.
        case sending
        /// Cancelled, while a push is being sent.
        case cancelling
        /// Cancelled before all of it was sent.
        case cancelled
        case done
        /// The message's file, all that was held of it, or receipts that may tell what became of it cannot be read.
        case damaged
    }

    /// - Throws: not found if no message has this id, or it is forgotten.
    package init(of id: String, _ state: Store.State, at now: Timestamp) throws(Failure) {
        guard let record = try state.messages.find(id) else {
            throw .refused(.notFound, "there is no message with this id")
        }
        try self.init(id, record, state.spools, at: now)
    }

    private init(
        _ id: String, _ record: MessageRecord, _ spools: Spools, at now: Timestamp
    ) throws(Failure) {
        self.id = id
        self.record = record
        guard record.place != nil || record.held > 0,
            let start = record.receiptsStart(at: now)
        else {
            trace = NotificationTrace.withoutDevices
            return
        }
        var trace = try spools.trace(
            id, from: start, devices: record.devices, isHeld: record.held > 0,
            isCancelled: record.cancelled != nil)
        trace.dropUnknownDevices()
        guard !trace.isForgotten else {
            throw .refused(
                .notFound, "the message's receipts are gone: they are kept for 30 days")
        }
        self.trace = trace
    }

    /// Cancels deliveries that have not been sent, lets a drainer settle what depends on them, and reports on
    /// the message.
    ///
    /// - Throws: also if receipts that may tell of sent pushes cannot be read. What was left is cancelled then,
    ///   too.
    @export(interface)
    package static func cancelling(
        _ id: String, _ state: Store.State, for request: Request
    ) throws(Failure) -> Report {
        let report = try cancelling(id, state, at: request.time)
        state.startDrainer(for: request)
        guard !report.trace.lacksReceipts else {
            throw Failure(
                .broken,
                "unable to tell what was cancelled of message \(id): receipts cannot be read; health names them",
                cause: FailureCause.unreadable)
        }
        return report
    }

    private static func cancelling(
        _ id: String, _ state: Store.State, at now: Timestamp
    ) throws(Failure) -> Report {
        let spools = state.spools
        let unknown = Failure.refused(.notFound, "there is no message with this id")
        // Checked first without the lock, so that unknown ids leave no lock files.
        guard try state.messages.find(id) != nil else { throw unknown }
        return try state.messages.holding(id) { () throws(Failure) in
            guard var record = try state.messages.findLocked(id) else { throw unknown }
            let start = try spools.receiptsStart(notBefore: nil, at: now)
            if let moment = record.sendAfter, now < moment, record.place != nil {
                // Its receipts now begin earlier than planned.
                let planned = ReceiptsStart(record.receipts)
                let earliest = planned?.earliest(start) ?? start
                if earliest != planned {
                    record.receipts = earliest.json
                    try state.messages.write(record, of: id)
                }
            }
            if try !spools.contains(id) {
                // It may be held, or in a release.
                let report = try Report(id, record, spools, at: now)
                // What was damaged may be repaired and come back.
                guard report.isOpen || report.state == .damaged || report.count(.damaged) > 0
                else { return report }
            }
            if record.cancelled == nil {
                // Held messages check this when they are released. Written first, so that a killed request
                // leaves no devices that nobody cancelled.
                record.cancelled = now
                try state.messages.write(record, of: id)
            }
            _ = try spools.cancel(id, at: now) {
                (id, change, users, areAll) throws(Failure) in
                // The badge was counted when the message was first tried.
                try Outbox(state, now: now)
                    .takeBackBadges(
                        change, by: id, among: users, areAll: areAll, record: record)
            }
            return try Report(id, record, spools, at: now)
        }
    }

    private var deliveries: [DeliveryTrace] { trace.deliveries + trace.released }

    /// A damaged notification does not list all of its devices.
    private var known: [DeliveryTrace] {
        trace.isDamaged ? deliveries.filter { $0.isKnown } : deliveries
    }

    /// A delivery's outcome. A held delivery is cancelled with the message, unless it is being sent.
    private func outcome(of delivery: DeliveryTrace) -> Outcome? {
        guard delivery.outcome == .held, record.cancelled != nil else { return delivery.outcome }
        return delivery.isBeingReleased ? nil : .cancelled
    }

    /// How many devices have an outcome; with `nil`, how many have none yet.
    @export(interface)
    package func count(_ outcome: Outcome?) -> Int {
        let more =
            switch outcome {
            case .cancelled: cancelledHeld
            case .held: held
            default: 0
            }
        return deliveries.count { self.outcome(of: $0) == outcome } + more
    }

    /// How many devices are still held by quiet hours in the form of earlier versions.
    private var held: Int { record.cancelled == nil ? rest : 0 }
    /// How many of these devices it was cancelled for.
    private var cancelledHeld: Int { record.cancelled == nil ? 0 : rest }
    private var rest: Int { max(0, record.held - trace.released.count) }

    /// Whether any device has no outcome yet.
    package var isOpen: Bool { count(nil) + count(.held) > 0 && !trace.isDamaged }

    /// Whether each delivery that is left may have arrived, so that it is repeated and not cancelled.
    package var isBeyondRecall: Bool {
        let left = deliveries.filter { isLeft($0) }
        return !left.isEmpty && left.allSatisfy { $0.isInDoubt } && count(.cancelled) == 0
            && count(.held) == 0
    }

    /// Whether a push may still be sent although the message was cancelled: what is damaged and may have
    /// arrived is repeated once somebody has repaired its file.
    package var mayBeSent: Bool {
        isOpen || deliveries.contains { isLeft($0) && $0.isInDoubt }
    }

    private func isLeft(_ delivery: DeliveryTrace) -> Bool {
        let outcome = outcome(of: delivery)
        return outcome == nil || outcome == .damaged
    }

    /// Whether it is done, and the outcome of no device is `damaged`.
    package var isSent: Bool { state == .done && count(.damaged) == 0 }

    package var state: State {
        if trace.isDamaged { return .damaged }
        if !isOpen {
            if isCancelled { return .cancelled }
            return count(.damaged) > 0 && count(.damaged) == deliveries.count ? .damaged : .done
        }
        let isReleasing = record.cancelled != nil && deliveries.contains { $0.isBeingReleased }
        if trace.isCancelled || isReleasing { return .cancelling }
        return count(nil) + count(.held) == deliveries.count + held ? .waiting : .sending
    }

    /// Whether the message is over because it was cancelled. An erasure of a user only cancels what is left
    /// for that user's devices.
    private var isCancelled: Bool {
        let cancelled = count(.cancelled)
        guard record.cancelled == nil else { return cancelled > 0 }
        // Earlier versions did not always record it.
        return cancelled > 0 && cancelled == deliveries.count + rest
    }

    package var json: JSONValue {
        var members: JSONObject = [
            "success": true, "id": .string(id), "state": .string(state.rawValue),
            "kind": .string(record.kind), "acceptedAt": text(record.accepted),
        ]
        members["sendAfter"] = record.sendAfter.map { text($0) }
        members["delayedOption"] = record.delayed.map { .string($0.name) }
        members["deliveryTimeOfDay"] = record.delayed?.time.map { .string($0) }
        members["throttlePerMinute"] = record.throttle.map { .integer($0) }
        members["counts"] = counts
        members["later"] = record.later.isEmpty ? nil : JSONValue(texts: record.later)
        members["failed"] = record.failed.isEmpty ? nil : JSONValue(texts: record.failed)
        members["devices"] = .array(known.prefix(Self.maximumListed).map { json(of: $0) })
        let omitted = known.count - Self.maximumListed
        if omitted > 0 { members["omitted"] = .integer(Int64(omitted)) }
        return .object(members)
    }

    /// More devices than this are only counted, because an answer is made in memory.
    private static let maximumListed = 10_000

    private var counts: JSONValue {
        var counts = JSONObject()
        for outcome in Outcome.all where count(outcome) > 0 {
            counts[outcome.rawValue] = .integer(Int64(count(outcome)))
        }
        if count(nil) > 0 { counts["waiting"] = .integer(Int64(count(nil))) }
        if record.skipped > 0 { counts["skipped"] = .integer(Int64(record.skipped)) }
        return .object(counts)
    }

    private func json(of delivery: DeliveryTrace) -> JSONValue {
        var members: JSONObject = ["id": .string(delivery.device)]
        members["user"] = delivery.user.map { .string($0) }
        members["state"] = .string(outcome(of: delivery)?.rawValue ?? "waiting")
        members["attempts"] = .integer(delivery.attempts)
        members["at"] = delivery.last.map { text($0) }
        members["status"] = delivery.status.map { .integer($0) }
        members["reason"] = delivery.reason.map { .string($0) }
        members["language"] = delivery.language.map { .string($0) }
        members["mayHaveArrived"] = delivery.isInDoubt ? true : nil
        return .object(members)
    }

    private func text(_ moment: Timestamp) -> JSONValue {
        .string(CalendarDate(moment).millisecondText)
    }
}
