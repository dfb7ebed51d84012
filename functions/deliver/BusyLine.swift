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

    /// Since when their documents have been found locked each time, by the monotonic clock in milliseconds.
    private var lockedSince: [Owner: Int64] = [:]
    private var entries: [(entry: PushQueue.Entry, moment: Int64)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// For how many milliseconds a lock is waited for: only the first time.
    func patience(for owner: Owner) -> Int64 { lockedSince[owner] == nil ? 20 : 0 }

    mutating func noteFree(_ owner: Owner) {
        if !lockedSince.isEmpty { lockedSince[owner] = nil }
    }

    mutating func noteLocked(_ owner: Owner) {
        guard lockedSince[owner] == nil else { return }
        // Some may be of owners who get no more pushes.
        if lockedSince.count > 10_000 { lockedSince = [:] }
        lockedSince[owner] = MonotonicClock.milliseconds
    }

    /// Whether it is worth while to try again soon.
    func canWait(for owner: Owner) -> Bool {
        guard let since = lockedSince[owner], entries.count < 1000 else { return false }
        return MonotonicClock.milliseconds - since < 2000
    }

    mutating func wait(_ entry: PushQueue.Entry) {
        entries.append((entry, MonotonicClock.milliseconds + 20))
    }

    /// Those that are to be tried again now.
    mutating func takeDue() -> [PushQueue.Entry] {
        guard !isEmpty else { return [] }
        let moment = MonotonicClock.milliseconds
        let due = entries.prefix { $0.moment <= moment }
        entries.removeFirst(due.count)
        return due.map(\.entry)
    }

    mutating func takeAll() -> [PushQueue.Entry] {
        defer { entries = [] }
        return entries.map(\.entry)
    }
}
