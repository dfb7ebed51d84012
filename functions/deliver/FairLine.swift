import Spool
import Turnstone

/// Deliveries that wait, a queue for each user. Users take turns, one delivery each, so that a user with thousands does not
/// keep the others waiting.
struct FairLine {
    private var lines: [UserID?: Line<PushQueue.Entry>] = [:]
    /// The users who have deliveries here; the first one is next.
    private var turns = Line<UserID?>()

    var rest: [PushQueue.Entry] { lines.values.flatMap { $0.rest } }

    func count(of user: UserID) -> Int { lines[user]?.count ?? 0 }

    mutating func append(_ entry: PushQueue.Entry) {
        let user = entry.job.file.user(of: entry.delivery)
        if lines[user] == nil { turns.append(user) }
        lines[user, default: Line()].append(entry)
    }

    mutating func popFirst() -> PushQueue.Entry? {
        guard let user = turns.popFirst(), let entry = lines[user]?.popFirst() else { return nil }
        if lines[user]?.count == 0 {
            lines[user] = nil
        } else {
            turns.append(user)
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
