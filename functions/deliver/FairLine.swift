import DequeModule
import Spool
import Turnstone

/// Deliveries that wait, a queue for each recipient. Recipients take turns, one delivery each, so that one
/// with thousands does not keep the others waiting.
struct FairLine {
    private var lines: [Recipient: Deque<PushQueue.Entry>] = [:]
    /// Those who have deliveries here; the first one is next.
    private var turns = Deque<Recipient>()

    var rest: [PushQueue.Entry] { lines.values.flatMap { Array($0) } }

    func count(of recipient: Recipient) -> Int { lines[recipient]?.count ?? 0 }

    mutating func append(_ entry: PushQueue.Entry) {
        let recipient = entry.job.file.recipient(of: entry.delivery)
        if lines[recipient] == nil { turns.append(recipient) }
        lines[recipient, default: Deque()].append(entry)
    }

    mutating func popFirst() -> PushQueue.Entry? {
        guard let recipient = turns.popFirst(), let entry = lines[recipient]?.popFirst() else {
            return nil
        }
        if lines[recipient]?.count == 0 {
            lines[recipient] = nil
        } else {
            turns.append(recipient)
        }
        return entry
    }
}
