import DequeModule
import Gateways
import Spool
import Turnstone

/// Waiting deliveries, in one queue per recipient. Recipients take turns with one delivery each, so that a
/// recipient with thousands does not delay the others.
struct FairLine {
    private var lines: [Recipient: Deque<PushQueue.Entry>] = [:]
    /// The recipients that have deliveries here, the next one first.
    private var turns = Deque<Recipient>()

    var rest: [PushQueue.Entry] { lines.values.flatMap { Array($0) } }

    func count(of recipient: Recipient) -> Int { lines[recipient]?.count ?? 0 }

    /// Whether an older push to the same device waits here.
    func hasOlder(than entry: PushQueue.Entry) -> Bool {
        hasOther(than: entry) { Self.isOlder($0, entry) }
    }

    /// Whether a younger push to the same device waits here.
    func hasYounger(than entry: PushQueue.Entry) -> Bool {
        hasOther(than: entry) { Self.isOlder(entry, $0) }
    }

    /// Whether such a push to the same device waits here.
    private func hasOther(
        than entry: PushQueue.Entry, where isMeant: (PushQueue.Entry) -> Bool
    ) -> Bool {
        let line = lines[entry.job.file.recipient(of: entry.delivery)]
        return line?.contains { $0.delivery.aim == entry.delivery.aim && isMeant($0) } ?? false
    }

    private static func isOlder(_ entry: PushQueue.Entry, _ other: PushQueue.Entry) -> Bool {
        (entry.job.rank, entry.delivery.number) < (other.job.rank, other.delivery.number)
    }

    /// Adds a delivery, or takes one back, before its recipient's younger ones.
    mutating func add(_ entry: PushQueue.Entry) {
        let recipient = entry.job.file.recipient(of: entry.delivery)
        if lines[recipient] == nil { turns.append(recipient) }
        lines[recipient, default: Deque()].insert(entry, before: Self.isOlder)
    }

    /// - Parameter mayHave: whether a recipient may have another delivery now. One who may not keeps the turn.
    mutating func popFirst(
        where mayHave: (Recipient) -> Bool
    ) -> PushQueue.Entry? {
        var waiting: [Recipient] = []
        defer { for recipient in waiting.reversed() { turns.prepend(recipient) } }
        while let recipient = turns.popFirst() {
            guard mayHave(recipient) else {
                waiting.append(recipient)
                continue
            }
            guard let entry = lines[recipient]?.popFirst() else { continue }
            if lines[recipient]?.count == 0 {
                lines[recipient] = nil
            } else {
                turns.append(recipient)
            }
            return entry
        }
        return nil
    }
}
