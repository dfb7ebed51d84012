import Documents
import Spool
import Store
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

    private let state: State
    /// Since when a lock has been found held at every attempt. Thousands of owners may share one.
    private var heldSince: [String: (first: Instant, last: Instant)] = [:]
    private var entries: [(entry: PushQueue.Entry, moment: Instant)] = []
    /// How long a push waits here.
    private static let longest = Interval.seconds(2)

    init(_ state: State) { self.state = state }

    var isEmpty: Bool { entries.isEmpty }

    /// The lock of an owner's documents.
    private func lock(of owner: Owner) -> String {
        switch owner {
        case .recipient(.user(let user)): state.users[user].lock.file
        case .recipient(.aim(.channel(let channel))): state.channels[channel].lock.file
        case .recipient(.aim(.device(let token))): state.tokens[token].lock.file
        case .session(let name): state.sessions[name].lock.file
        case .notification(let id): id
        }
    }

    /// Reads and changes an owner's documents, but waits only briefly if another process has locked one: all
    /// other pushes wait meanwhile.
    ///
    /// - Throws: `busy` if one is locked.
    func waitingBriefly<Result>(
        for owner: Owner, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let taken = Lock.acquired
        // Most of the time none is held.
        let since = heldSince.isEmpty ? nil : known(lock(of: owner))
        // Wait only the first time.
        let patience = Interval.milliseconds(since == nil ? 20 : 0)
        let isLong = since.map { Instant.now - $0 >= Self.longest } ?? false
        do throws(Failure) {
            let result = try Lock.waiting(upTo: patience, recording: isLong, body)
            if Lock.acquired > taken, !heldSince.isEmpty { heldSince[lock(of: owner)] = nil }
            return result
        } catch {
            if error.cause == FailureCause.busy { didFindHeld(lock(of: owner)) }
            throw error
        }
    }

    /// Since when a lock has been found held; `nil` also if the last time was long ago.
    private func known(_ lock: String) -> Instant? {
        guard let held = heldSince[lock], Instant.now - held.last < .seconds(5) else { return nil }
        return held.first
    }

    private func didFindHeld(_ lock: String) {
        let now = Instant.now
        // Some may belong to owners who get no more pushes.
        if heldSince.count > 10_000 { heldSince = [:] }
        heldSince[lock] = (known(lock) ?? now, now)
    }

    /// Whether an owner's push may wait here: for two seconds, if fewer than 1000 wait.
    func canWait(for owner: Owner) -> Bool {
        guard entries.count < 1000, let since = known(lock(of: owner)) else { return false }
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
