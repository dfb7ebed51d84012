import Documents
import Spool
import Turnstone
import Unix

/// Pushes that cannot be decided because somebody else has locked a document. They are tried again every few
/// milliseconds for two seconds, while everybody else's go on.
final class LockedDocuments {
    /// Whose documents they are.
    enum Owner: Hashable {
        case recipient(Recipient)
        case session(String)
        /// All users of a notification that has several.
        case notification(String)
    }

    /// Since when an owner's documents have been found locked each time.
    private var lockedSince: [Owner: Instant] = [:]
    private var entries: [(entry: PushQueue.Entry, moment: Instant)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Reads and changes an owner's documents without waiting long for somebody who has locked them:
    /// everybody else's pushes would wait, too.
    ///
    /// - Throws: `busy` if one is locked.
    func waitingBriefly<Result>(
        for owner: Owner, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let taken = Lock.acquired
        // Only the first time is worth a wait.
        let patience = Interval.milliseconds(lockedSince[owner] == nil ? 20 : 0)
        do throws(Failure) {
            let result = try Lock.waiting(upTo: patience, body)
            if Lock.acquired > taken, !lockedSince.isEmpty { lockedSince[owner] = nil }
            return result
        } catch {
            if error.cause == "busy" { didFindLocked(owner) }
            throw error
        }
    }

    private func didFindLocked(_ owner: Owner) {
        guard lockedSince[owner] == nil else { return }
        // Some may be of owners who get no more pushes.
        if lockedSince.count > 10_000 { lockedSince = [:] }
        lockedSince[owner] = Instant.now
    }

    /// Whether it is worth trying again soon.
    func canWait(for owner: Owner) -> Bool {
        guard let since = lockedSince[owner], entries.count < 1000 else { return false }
        return Instant.now - since < .seconds(2)
    }

    func wait(_ entry: PushQueue.Entry) {
        entries.append((entry, Instant.now + .milliseconds(20)))
    }

    /// Those that are to be tried again now.
    func takeDue() -> [PushQueue.Entry] {
        guard !isEmpty else { return [] }
        let moment = Instant.now
        let due = entries.prefix { $0.moment <= moment }
        entries.removeFirst(due.count)
        return due.map(\.entry)
    }

    func takeAll() -> [PushQueue.Entry] {
        defer { entries = [] }
        return entries.map(\.entry)
    }
}
