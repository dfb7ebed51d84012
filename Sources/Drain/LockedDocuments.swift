import Documents
import Spool
import Turnstone
import Unix

/// Pushes that wait because another process has locked a document that decides about them. They are tried
/// again every 20 ms for two seconds. All others go on meanwhile.
final class LockedDocuments {
    /// The owner of documents.
    enum Owner: Hashable {
        case recipient(Recipient)
        case session(String)
        /// All users of a notification that has several.
        case notification(String)
    }

    /// Since when an owner's documents have been found locked at every attempt.
    private var lockedSince: [Owner: Instant] = [:]
    private var entries: [(entry: PushQueue.Entry, moment: Instant)] = []
    /// How long a push waits here.
    private static let longest = Interval.seconds(2)

    var isEmpty: Bool { entries.isEmpty }

    /// Reads and changes an owner's documents, but waits only briefly if another process has locked one: all
    /// other pushes wait meanwhile.
    ///
    /// - Throws: `busy` if one is locked.
    func waitingBriefly<Result>(
        for owner: Owner, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let taken = Lock.acquired
        // Wait only the first time.
        let patience = Interval.milliseconds(lockedSince[owner] == nil ? 20 : 0)
        let isLong = lockedSince[owner].map { Instant.now - $0 >= Self.longest } ?? false
        do throws(Failure) {
            let result = try Lock.waiting(upTo: patience, recording: isLong, body)
            if Lock.acquired > taken, !lockedSince.isEmpty { lockedSince[owner] = nil }
            return result
        } catch {
            if error.cause == FailureCause.busy { didFindLocked(owner) }
            throw error
        }
    }

    private func didFindLocked(_ owner: Owner) {
        guard lockedSince[owner] == nil else { return }
        // Some may belong to owners who get no more pushes.
        if lockedSince.count > 10_000 { lockedSince = [:] }
        lockedSince[owner] = Instant.now
    }

    /// Whether an owner's push may wait here: for two seconds, if fewer than 1000 wait.
    func canWait(for owner: Owner) -> Bool {
        guard let since = lockedSince[owner], entries.count < 1000 else { return false }
        return Instant.now - since < Self.longest
    }

    func wait(_ entry: PushQueue.Entry) {
        entries.append((entry, Instant.now + .milliseconds(20)))
    }

    /// Removes the deliveries that are to be tried again now, and returns them.
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
