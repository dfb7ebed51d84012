import Spool
import Turnstone

/// Deliveries that wait, a queue for each recipient. Recipients take turns, one delivery each, so that one with thousands
/// does not keep the others waiting.
struct FairLine {
    private var lines: [Recipient: Line<PushQueue.Entry>] = [:]
    /// Those who have deliveries here; the first one is next.
    private var turns = Line<Recipient>()

    var rest: [PushQueue.Entry] { lines.values.flatMap { $0.rest } }

    func count(of recipient: Recipient) -> Int { lines[recipient]?.count ?? 0 }

    mutating func append(_ entry: PushQueue.Entry) {
        let recipient = entry.job.file.recipient(of: entry.delivery)
        if lines[recipient] == nil { turns.append(recipient) }
        lines[recipient, default: Line()].append(entry)
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

/// First in, first out.
struct Line<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { elements.count - start }

    var rest: [Element] { elements[start...].compactMap { $0 } }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count, let element = elements[start] else { return nil }
        elements[start] = nil
        start += 1
        if start > 1024, start * 2 > elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }
}
