import DequeModule
import Gateways

/// The messages that wait for one push service, in one queue per recipient. Recipients take turns.
struct OriginLine {
    private var lines: [PushRecipient: Deque<OriginState.Item>] = [:]
    /// The recipients that have messages here, the next one first.
    private var turns = Deque<PushRecipient>()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ item: OriginState.Item) {
        let recipient = item.request.recipient
        if lines[recipient] == nil { turns.append(recipient) }
        lines[recipient, default: Deque()].append(item)
        count += 1
    }

    /// Takes back a message that was not sent, to its place among its recipient's.
    mutating func putBack(_ item: OriginState.Item) {
        let recipient = item.request.recipient
        if lines[recipient] == nil { turns.prepend(recipient) }
        lines[recipient, default: Deque()].insert(item) { $0.number < $1.number }
        count += 1
    }

    /// - Parameter mayHave: whether a recipient may have another message now. One who may not keeps the turn.
    mutating func popFirst(where mayHave: (PushRecipient) -> Bool) -> OriginState.Item? {
        guard let turn = turns.firstIndex(where: mayHave) else { return nil }
        let recipient = turns.remove(at: turn)
        guard let item = lines[recipient]?.popFirst() else { return nil }
        count -= 1
        if lines[recipient]?.isEmpty == true {
            lines[recipient] = nil
        } else {
            turns.append(recipient)
        }
        return item
    }

    mutating func removeAll() -> [OriginState.Item] {
        defer { self = OriginLine() }
        return turns.flatMap { lines[$0].map { Array($0) } ?? [] }
    }
}
