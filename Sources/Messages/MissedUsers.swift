import Edge
import Store
import Turnstone

/// The users for whom a message was not accepted, because their documents could not be used.
struct MissedUsers {
    /// Users whose documents were busy. The same message may be accepted for them soon.
    private(set) var later: [UserID] = []
    /// Users whose documents cannot be used until somebody repairs them.
    private(set) var failed: [UserID] = []
    private(set) var first: Failure?

    mutating func add(_ user: UserID, _ failure: Failure) {
        Log().failure(failure)
        first = first ?? failure
        guard !later.contains(user), !failed.contains(user) else { return }
        if case .later = failure.disposition { later.append(user) } else { failed.append(user) }
    }
}

extension MessageRecord {
    mutating func setMissed(_ missed: MissedUsers) {
        later = missed.later.map { $0.text }
        failed = missed.failed.map { $0.text }
    }
}
