import Turnstone

/// A place before all receipts of a notification, in the receipts of each queue.
package struct ReceiptsStart: Equatable, Sendable {
    private var positions: [(queue: QueueName, position: ReceiptLog.Position)]

    init(_ positions: [(queue: QueueName, position: ReceiptLog.Position)]) {
        self.positions = positions
    }

    /// The place before all receipts that there are.
    package static let beginning = ReceiptsStart([])

    /// Where the receipts of a queue begin.
    ///
    /// Where none is named, the queue had no receipts then: all that it has may be the notification's.
    package subscript(queue: QueueName) -> ReceiptLog.Position {
        get { positions.first { $0.queue == queue }?.position ?? .beginning }
        set {
            positions.removeAll { $0.queue == queue }
            positions.append((queue, newValue))
        }
    }

    private var queues: Set<QueueName> { Set(positions.map { $0.queue }) }

    /// The same for what was accepted at a moment: a queue that had no receipts then is read from its beginning.
    package func ofAcceptance(at moment: Timestamp) -> ReceiptsStart {
        let day = CalendarDate(moment).dayText
        return ReceiptsStart(
            positions.map { (queue, position) in
                (queue, position.isOfEmptyQueue && position.day == day ? .beginning : position)
            })
    }

    /// The earlier place of both in each queue's receipts.
    package func earliest(_ other: ReceiptsStart) -> ReceiptsStart {
        var earliest = ReceiptsStart([])
        for (queue, position) in positions where other.queues.contains(queue) {
            earliest[queue] = min(position, other[queue])
        }
        return earliest
    }

    package static func == (left: ReceiptsStart, right: ReceiptsStart) -> Bool {
        left.queues.union(right.queues).allSatisfy { left[$0] == right[$0] }
    }
}

extension ReceiptsStart {
    /// Reads the form that ``json`` writes. Earlier versions wrote one place, in the receipts of APNs.
    @export(interface)
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        if let position = ReceiptLog.Position(json) {
            self.init([(QueueName(.apns), position)])
            return
        }
        var positions: [(queue: QueueName, position: ReceiptLog.Position)] = []
        for member in members.members {
            guard let queue = QueueName(member.name),
                let position = ReceiptLog.Position(member.value)
            else { continue }
            positions.append((queue, position))
        }
        if positions.isEmpty { return nil }
        self.init(positions)
    }

    /// `{"<queue>": {"day", "term", "offset"}, …}`.
    package var json: JSONValue {
        var members = JSONObject()
        for (queue, position) in positions { members[queue.text] = position.json }
        return .object(members)
    }
}
