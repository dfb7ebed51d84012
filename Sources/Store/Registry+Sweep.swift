import Documents
import Turnstone

// A deleted app does not unregister, and APNs reports its tokens only when something is pushed to them.
// Without a sweep, its activities would keep their names and their places in sessions until the user
// registers something again.

extension Registry {
    /// Removes expired Live Activities from an index of activities or of sessions, and from their users.
    ///
    /// - Parameter start: which user comes first, as a fraction of the index in units of 2^-64.
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
                try error.recordIfOfOneDocument()
            }
        }
        // In parts, so that nobody waits long for the lock.
        for first in stride(from: 0, to: left.count, by: 1000) {
            try index.update { (holders) throws(Failure) in
                // Checked under the lock: a registration may have come in between.
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
        // Other indices have their own turn: a session's index is written once for all who leave it.
        try forget(ended, of: user) { if case .token = $0 { true } else { false } }
    }

    /// Whether an index finds one of the user's devices.
    func has(
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
    /// Where a round of a sweep begins, as a fraction in units of 2^-64. What one round does not reach comes first in
    /// another: multiples of the golden ratio leave no large gaps.
    static func start(ofRound round: Int64) -> UInt64 {
        UInt64(truncatingIfNeeded: round) &* 0x9E37_79B9_7F4A_7C15
    }

    /// The place in a list of `count` elements, with this number as a fraction in units of 2^-64.
    func place(among count: Int) -> Int { Int(multipliedFullWidth(by: UInt64(count)).high) }
}
