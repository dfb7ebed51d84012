import Documents
import Turnstone
import Unix

// Removes files that are no longer needed. Registering and unregistering leaves small files, and each run of
// a program may look at only a few of them.

extension State {
    /// The folders whose documents expire, in turn.
    private var sweptFolders: [String] {
        [tokens.folder, activities.folder, sessions.folder, keyDocuments.folder]
    }

    /// An index without users is small: a longer one need not be read.
    private static let longestEmptyIndex: Int64 = 200

    /// The first prime number above four times 256, so that each shard of each folder has its turn whatever
    /// the distance between two runs.
    private static let turns: Int64 = 1031

    /// Removes expired Live Activities, indices without users and keys that were revoked 30 days ago, from
    /// one shard of one folder. Every half minute another shard has its turn: with a run every half minute,
    /// all of them are done after nine hours.
    ///
    /// - Parameters:
    ///   - limit: how many users' documents it may read.
    ///   - time: how long it may take. At least one document is looked at.
    /// - Returns: how many documents were removed.
    @export(interface)
    package func sweep(
        at now: Timestamp, reading limit: Int = 20_000, within time: Interval = .seconds(5)
    ) throws(Failure) -> Int {
        let turn = Int(now.seconds / 30 % Self.turns)
        guard turn < 4 * 256 else { return 0 }
        let folder = "\(sweptFolders[turn % 4])/\(hex([UInt8(turn / 4)]))"
        let isOfKeys = turn % 4 == 3
        var count = 0
        let names = try systemCalls(Files.names(in: folder))
        let start = UInt64.start(ofRound: now.seconds / 30 / Self.turns)
        let first = start.place(among: names.count)
        var budget = SweepBudget(users: limit, time: time)
        for name in names[first...] + names[..<first]
        where name.utf8.suffix(5).elementsEqual(".json".utf8) {
            // An unusable or locked document does not affect the others.
            do throws(Failure) {
                let document = DocumentName(
                    hash: String(decoding: name.utf8.dropLast(5), as: UTF8.self))
                if turn % 4 == 1 || turn % 4 == 2 {
                    try registry.endActivities(
                        in: (turn % 4 == 1 ? activities : sessions)[named: document], from: start,
                        at: now,
                        &budget)
                }
                let stamp = try systemCalls(Files.stamp(of: "\(folder)/\(name)"))
                guard let stamp, isOfKeys || stamp.size <= Self.longestEmptyIndex else { continue }
                let age = Timestamp.systemNow - Timestamp(seconds: stamp.seconds)
                let isGone =
                    switch turn % 4 {
                    // The index also says that somebody had the token, which matters to a message that was
                    // sent to the token alone.
                    case 0:
                        try tokens[named: document].remove { $0.users.isEmpty && age > .days(61) }
                    case 1:
                        try activities[named: document].remove {
                            $0.users.isEmpty && age > .days(1)
                        }
                    case 2:
                        try sessions[named: document].remove { $0.users.isEmpty && age > .days(1) }
                    default: try removeKey(document, at: now)
                    }
                if isGone { count += 1 }
            } catch {
                guard error.isFileSpecific || error.cause == FailureCause.busy else { throw error }
                error.recordFile()
            }
            if budget.isTimeOver { return count }
        }
        return count
    }

    private func removeKey(_ name: DocumentName, at now: Timestamp) throws(Failure) -> Bool {
        var owner: PlayerID?
        let isGone = try keyDocuments[name].remove { key in
            owner = PlayerID(key.owner)
            return isExpired(key, at: now)
        }
        guard isGone, let owner else { return isGone }
        try users[owner].update { user in
            user.keys.removeAll { DocumentName(hash: $0).file == name.file }
        }
        return true
    }

    private func isExpired(_ key: Key, at now: Timestamp) -> Bool {
        guard let end = key.revoked else { return false }
        return now - end > .days(30)
    }
}
