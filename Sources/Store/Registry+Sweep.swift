import Documents
import Turnstone
import Unix

/// What one run of a sweep may still do.
struct SweepBudget {
    /// How many users' documents it may read.
    var users: Int
    /// A user takes some milliseconds to write; what is left has its turn later.
    var end = Instant.now + .milliseconds(5_000)

    mutating func take() -> Bool {
        guard users > 0, Instant.now < end else { return false }
        users -= 1
        return true
    }
}

// An app that was deleted does not say so, and APNs tells of its tokens only when something is pushed to them. Without a
// sweep, its activities would keep their names and their places in sessions until the user registers something again.

extension Registry {
    /// Removes the Live Activities that are over from an index of activities or of sessions, and from their users.
    ///
    /// - Parameter start: which user comes first: a fraction of those in the index, in 2^64ths.
    func endActivities(
        in index: StoredDocument<Holders>, from start: UInt64, at now: Timestamp,
        _ budget: inout SweepBudget
    ) throws(Failure) {
        guard let users = try index.read()?.users, !users.isEmpty else { return }
        let first = start.place(among: users.count)
        var left: [UserID] = []
        for user in users[first...] + users[..<first] {
            guard budget.take() else { break }
            do throws(Failure) {
                try endActivities(of: user, at: now)
                if try !has(user, in: index) { left.append(user) }
            } catch {
                // Others are no worse off.
                guard error.isOfOneDocument || error.cause == "busy" else { throw error }
                error.noteFile()
            }
        }
        // In parts: nobody is to wait long for the lock.
        for first in stride(from: 0, to: left.count, by: 1000) {
            try index.update { (holders) throws(Failure) in
                // Asked under the lock: a registration may have come between.
                var gone: Set<UserID> = []
                for user in left[first...].prefix(1000) where try !has(user, in: index) {
                    gone.insert(user)
                }
                holders.remove(gone)
            }
        }
    }

    private func endActivities(of user: UserID, at now: Timestamp) throws(Failure) {
        guard let known = try state.users[user].read(),
            known.devices.contains(where: { $0.isOldActivity(at: now) })
        else { return }
        let ended = try state.users[user].update { document in
            let ended = document.devices.filter { $0.isOldActivity(at: now) }
            document.devices.removeAll { $0.isOldActivity(at: now) }
            return ended
        }
        // The other indices have turns of their own: a session's is written once for all who leave it.
        try forget(ended, of: user) { if case .token = $0 { true } else { false } }
    }

    /// Whether an index leads to one of the user's devices.
    private func has(
        _ user: UserID, in index: StoredDocument<Holders>
    ) throws(Failure) -> Bool {
        try state.users[user].read()?.devices.contains { device in
            IndexKey.all(device.token, device.kind).contains {
                $0.document(in: state).path == index.path
            }
        } ?? false
    }
}

extension UInt64 {
    /// The place in a list that begins after as many 2^64ths of it.
    func place(among count: Int) -> Int { Int(multipliedFullWidth(by: UInt64(count)).high) }
}
