import Edge
import Store
import Turnstone

/// Users whom a message could not be accepted for, though it was for others.
struct MissedUsers {
    /// Whose documents were busy: the same message may be accepted for them soon.
    private(set) var later: [UserID] = []
    /// Whose documents cannot be used before somebody mends them.
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
    mutating func note(_ missed: MissedUsers) {
        later = missed.later.map { $0.text }
        failed = missed.failed.map { $0.text }
    }
}
