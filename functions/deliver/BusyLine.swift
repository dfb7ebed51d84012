import Spool
import Turnstone
import Unix

/// Pushes that cannot be decided while somebody else has locked a document. They are tried again every few milliseconds, for
/// two seconds, and everybody else's go on.
struct BusyLine {
    /// Whose documents they are.
    enum Owner: Hashable {
        case recipient(Recipient)
        case session(String)
        /// All users of a notification that has several.
        case notification(String)
    }

    /// Since when their documents have been found locked each time.
    private var lockedSince: [Owner: Instant] = [:]
    private var entries: [(entry: PushQueue.Entry, moment: Instant)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// How long a lock is waited for: only the first time.
    func patience(for owner: Owner) -> Interval {
        .milliseconds(lockedSince[owner] == nil ? 20 : 0)
    }

    mutating func noteFree(_ owner: Owner) {
        if !lockedSince.isEmpty { lockedSince[owner] = nil }
    }

    mutating func noteLocked(_ owner: Owner) {
        guard lockedSince[owner] == nil else { return }
        // Some may be of owners who get no more pushes.
        if lockedSince.count > 10_000 { lockedSince = [:] }
        lockedSince[owner] = Instant.now
    }

    /// Whether it is worth while to try again soon.
    func canWait(for owner: Owner) -> Bool {
        guard let since = lockedSince[owner], entries.count < 1000 else { return false }
        return Instant.now - since < .milliseconds(2000)
    }

    mutating func wait(_ entry: PushQueue.Entry) {
        entries.append((entry, Instant.now + .milliseconds(20)))
    }

    /// Those that are to be tried again now.
    mutating func takeDue() -> [PushQueue.Entry] {
        guard !isEmpty else { return [] }
        let moment = Instant.now
        let due = entries.prefix { $0.moment <= moment }
        entries.removeFirst(due.count)
        return due.map(\.entry)
    }

    mutating func takeAll() -> [PushQueue.Entry] {
        defer { entries = [] }
        return entries.map(\.entry)
    }
}
