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
            return index.isNumbered && !document.isPlayer(user)
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return false
        }
    }

    /// Reconciles some users with the indices of their tokens: those of four of the 256 folders, or of one if it has
    /// hundreds. Every half minute other folders have their turn, whatever the distance between two runs, so each
    /// has one after half an hour, or after two hours. Of the users whose documents have numbers, only some are
    /// read.
    ///
    /// - Parameter time: how long it may take. At least one user is looked at.
    @export(interface)
    package func reconcileUsers(
        at now: Timestamp, within time: Interval = .seconds(1)
    ) throws(Failure) {
        let end = Instant.now + time
        // A prime number of turns.
        let turn = now.seconds / 30 % 67
        let round = now.seconds / 30 / 67
        guard turn < 64 else { return }
        var (looks, readings) = (0, 64)
        for place in Int64(0)..<4 where looks < 256 {
            // Where the first folder has enough, another one is the first in the next round.
            let shard = turn * 4 + (place + round) % 4
            var list = UserList(state, folder: hex([UInt8(shard)]))
            let users = try list.all()
            let first = UInt64.start(ofRound: round).place(among: users.count)
            for user in users[first...] + users[..<first] {
                guard looks == 0 || Instant.now < end else { return }
                looks += 1
                do throws(Failure) {
                    if try state.users[user].isNumbered {
                        guard readings > 0 else { continue }
                        readings -= 1
                    }
                    try reconcile(user)
                } catch {
                    try error.recordIfOfOneUser()
                }
            }
        }
    }

    /// Lets a user's document and the indices of the user's tokens agree again. An index gets the name that it
    /// lacks, unless it knows that the registration is over, or names a user who registered the device later. Then
    /// the user loses it.
    func reconcile(_ user: UserID) throws(Failure) {
        try state.users[user].settle(isNumbering: true)
        for device in try state.users[user].read()?.devices ?? [] {
            // Read after the document: who removes a device changes the document first.
            guard try state.tokens[device.token].read()?.users.contains(user) != true else {
                continue
            }
            var lost: [(devices: [Device], user: UserID)] = []
            defer { finishRemovals(lost) }
            try reconcile(device.token, of: user, &lost)
        }
    }

    /// - Parameter lost: gets the devices that users have lost, whatever is thrown.
    private func reconcile(
        _ token: DeviceToken, of user: UserID, _ lost: inout [(devices: [Device], user: UserID)]
    ) throws(Failure) {
        try state.tokens[token].holding { (known, commit) throws(Failure) in
            guard !known.users.contains(user), let document = try state.users[user].read(),
                let device = document.devices.first(where: { $0.token == token })
            else { return }
            let others = try others(
                among: known.users, with: device, besidePlayer: document.isPlayer(user))
            guard !known.isLost(device),
                others.allSatisfy({ $0.registered <= device.registered })
            else {
                lost.append((try take(token, from: user), user))
                return
            }
            for (other, registered) in others {
                let taken = try take(token, from: other) { $0.registered == registered }
                // Registered again at this moment: the next round sees who has it.
                guard !taken.isEmpty else { return }
                lost.append((taken, other))
            }
            var holders = known
            holders.add(user)
            // An index that begins anew knows of no registration that is over.
            if known.users.isEmpty { holders.endRegistrations(before: .never) }
            try commit(holders)
        }
    }

    private func finishRemovals(_ lost: [(devices: [Device], user: UserID)]) {
        for (devices, user) in lost {
            do throws(Failure) { try finishRemoval(of: devices, from: user) } catch {
                // The devices are removed, and nothing else would try again.
                error.recordFile()
            }
        }
    }

    /// Those of the named users who have the device, and when each registered it.
    ///
    /// - Parameter isPlayer: whether to leave out players: another player may share the device with them.
    private func others(
        among named: [UserID], with device: Device, besidePlayer isPlayer: Bool
    ) throws(Failure) -> [(user: UserID, registered: Timestamp)] {
        var found: [(user: UserID, registered: Timestamp)] = []
        for other in named {
            do throws(Failure) {
                guard let document = try state.users[other].read() else { continue }
                if isPlayer, document.isPlayer(other) { continue }
                for own in document.devices where own.token == device.token {
                    found.append((other, own.registered))
                }
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
