import Documents
import Turnstone
import Unix

// An index in `tokens/` names a user before the user's document has the device, and as long as it has. Copies that
// an operator puts in place may be of other moments: a backup's, whose files were copied one after the other, or
// single ones. The index then knows which registrations were over at its time, and a later registration than those
// that it knows is newer than the index.

extension Registry {
    /// Takes the devices that are no longer the user's out of a document that may be a copy of any age. If an index
    /// is damaged, or lost, the device stays.
    func withoutLostDevices(_ document: User, of user: UserID) throws(Failure) -> User {
        var document = document
        var kept: [Device] = []
        for device in document.devices where try !isLost(device, of: user, document) {
            kept.append(device)
        }
        document.devices = kept
        return document
    }

    private func isLost(
        _ device: Device, of user: UserID, _ document: User
    ) throws(Failure) -> Bool {
        do throws(Failure) {
            guard let index = try state.tokens[device.token].glance(),
                !index.content.users.contains(user)
            else { return false }
            guard index.content.since == nil else { return index.content.isLost(device) }
            // An earlier version wrote it, or players alone have the device, who may share it. Without a number it
            // may be a copy itself.
            let mayShare = index.content.users.allSatisfy { $0.player != nil }
            return index.isNumbered && !(document.isPlayer(user) && mayShare)
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return false
        }
    }

    /// Reconciles some users with the indices of their tokens: those of four of the 256 folders, or of one if it has
    /// hundreds. Of the users whose documents have numbers, only some are read.
    ///
    /// - Parameter time: how long it may take. At least one user is looked at.
    @export(interface)
    package func reconcileUsers(
        at now: Timestamp, within time: Interval = .seconds(1)
    ) throws(Failure) {
        let end = Instant.now + time
        var (looks, readings) = (0, 64)
        for folder in Self.foldersToReconcile(at: now) where looks < 256 {
            var list = UserList(state, folder: hex([folder]))
            let users = try list.all()
            let first = Self.firstToReconcile(among: users.count, at: now)
            for user in users[first...] + users[..<first] {
                guard looks == 0 || Instant.now < end else { return }
                looks += 1
                do throws(Failure) {
                    if try state.users[user].isNumbered {
                        guard readings > 0 else { continue }
                        readings -= 1
                    }
                    try Lock.waiting(upTo: .milliseconds(100)) { () throws(Failure) in
                        try reconcile(user)
                    }
                } catch {
                    try error.recordIfOfOneDocument()
                }
            }
        }
    }

    /// Seconds.
    private static let turn: Int64 = 30
    /// A prime number: each turn comes in 67 runs, unless two runs are a multiple of 67 turns apart.
    private static let turns: Int64 = 67

    /// The folders of `users/` that have their turn: each is one of four every 34 minutes. Which one is the first
    /// differs from round to round, also for those rounds in which a program that runs seldom meets them.
    static func foldersToReconcile(at now: Timestamp) -> [UInt8] {
        let (round, turn) = (now.seconds / turn).quotientAndRemainder(dividingBy: turns)
        guard turn < 64 else { return [] }
        let first = Int64(UInt64.start(ofRound: round).place(among: 4))
        return (0..<4).map { UInt8(turn * 4 + (first + $0) % 4) }
    }

    /// Which of the users of a folder is the first one.
    static func firstToReconcile(among count: Int, at now: Timestamp) -> Int {
        // Other bits than those that choose the first folder, whose users would always begin in the same quarter.
        (UInt64.start(ofRound: now.seconds / turn / turns) << 2).place(among: count)
    }

    /// Lets a user's document and the indices of the user's tokens agree again. An index gets the name that it
    /// lacks, unless it knows that the registration is over, or names a user who registered the device no earlier.
    /// Then the user loses it.
    func reconcile(_ user: UserID) throws(Failure) {
        try state.users[user].settle(isNumbering: true)
        for device in try state.users[user].read()?.devices ?? [] {
            do throws(Failure) {
                // Read after the document: who removes a device changes the document first.
                guard try state.tokens[device.token].read()?.users.contains(user) != true else {
                    continue
                }
                for lost in try reconcile(device.token, of: user) {
                    try finishRemoval(of: [lost.device], from: lost.user)
                }
            } catch {
                try error.recordIfOfOneDocument()
            }
        }
    }

    private typealias Registered = (user: UserID, device: Device)

    /// - Returns: the devices that users have lost.
    private func reconcile(
        _ token: DeviceToken, of user: UserID
    ) throws(Failure) -> [Registered] {
        try state.tokens[token].holding { (known, commit) throws(Failure) in
            guard !known.users.contains(user), let document = try state.users[user].read(),
                let device = document.devices.first(where: { $0.token == token })
            else { return [] }
            var losers = try others(
                among: known.users, with: token, besidePlayer: document.isPlayer(user))
            let isLost =
                known.isLost(device)
                || losers.contains { $0.device.registered >= device.registered }
            if isLost { losers = [(user, device)] }
            // As with a claim, written before anybody loses it.
            var holders = known
            for loser in losers { holders.endRegistration(of: loser.device) }
            try commit(holders)
            for (place, loser) in losers.enumerated() {
                let registered = loser.device.registered
                let taken = try take(token, from: loser.user) { $0.registered == registered }
                // Registered again at this moment: the next round sees who has it.
                guard !taken.isEmpty else { return Array(losers[..<place]) }
            }
            guard !isLost else { return losers }
            holders.remove(Set(losers.map { $0.user }))
            holders.add(user)
            // An index that begins anew knows of no registration that is over.
            if known.users.isEmpty { holders.endRegistrations(before: .never) }
            try commit(holders)
            return losers
        }
    }

    /// Those of the named users who have the device.
    ///
    /// - Parameter isPlayer: whether to leave out players: another player may share the device with them.
    private func others(
        among named: [UserID], with token: DeviceToken, besidePlayer isPlayer: Bool
    ) throws(Failure) -> [Registered] {
        var found: [Registered] = []
        for other in named {
            do throws(Failure) {
                guard let document = try state.users[other].read() else { continue }
                if isPlayer, document.isPlayer(other) { continue }
                for own in document.devices where own.token == token { found.append((other, own)) }
            } catch {
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
            }
        }
        return found
    }
}

extension User {
    /// Whether this is a player of OGS, who may share a device with others.
    fileprivate func isPlayer(_ user: UserID) -> Bool { user.player != nil && isPlayer }
}
