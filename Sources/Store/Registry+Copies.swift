import Documents
import Turnstone
import Unix

// An index in `tokens/` names a user before the user's document has the device, and as long as it has. Copies that
// an operator puts in place may be of other moments: a backup's, whose files were copied one after the other, or
// single ones. Then the index decides who has the device.

extension Registry {
    /// Takes the devices that are no longer the user's out of a document that may be a copy of any age. If the
    /// index may be one itself, it knows only which registrations were over at its time; if it is damaged, the
    /// device stays.
    func withoutLostDevices(_ document: User, of user: UserID) throws(Failure) -> User {
        var document = document
        var kept: [Device] = []
        for device in document.devices where try !isLost(device, of: user) { kept.append(device) }
        document.devices = kept
        return document
    }

    private func isLost(_ device: Device, of user: UserID) throws(Failure) -> Bool {
        do throws(Failure) {
            guard let index = try state.tokens[device.token].glance(),
                !index.content.users.contains(user)
            else { return false }
            return index.isNumbered || index.content.isLost(device)
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return false
        }
    }

    /// Reconciles the users of four of the 256 folders with the indices of their tokens. Every half minute others
    /// have their turn, so all of them are done after 32 minutes.
    ///
    /// - Parameter time: how long it may take. At least one user is looked at.
    @export(interface)
    package func reconcileUsers(
        at now: Timestamp, within time: Interval = .seconds(1)
    ) throws(Failure) {
        let turn = now.seconds / 30
        var users: [UserID] = []
        for shard in 0..<4 {
            var list = UserList(
                state, folder: hex([UInt8(truncatingIfNeeded: turn * 4 + Int64(shard))]))
            while let user = try list.next() { users.append(user) }
        }
        let first = UInt64.start(ofRound: turn / 64).place(among: users.count)
        let end = Instant.now + time
        for user in users[first...] + users[..<first] {
            do throws(Failure) { try reconcile(user) } catch {
                // The others are not affected.
                guard error.isDocumentSpecific || error.cause == FailureCause.busy else {
                    throw error
                }
                error.recordFile()
            }
            guard Instant.now < end else { return }
        }
    }

    /// Lets a user's document and the indices of the user's tokens agree again. An index gets the name that it
    /// lacks, unless it knows that the registration is over. Then the user loses the device.
    func reconcile(_ user: UserID) throws(Failure) {
        let document = state.users[user]
        try document.settle()
        var lost: [(devices: [Device], user: UserID)] = []
        for device in try document.read()?.devices ?? [] {
            let index = state.tokens[device.token]
            // Read after the document: who removes a device changes the document first.
            guard try index.read()?.users.contains(user) != true else { continue }
            try index.holding { (known, commit) throws(Failure) in
                guard !known.users.contains(user), let present = try document.read(),
                    let device = present.devices.first(where: { $0.token == device.token })
                else { return }
                // Also if one who is named registered it later.
                let isPlayer = user.player != nil && present.isPlayer
                let others = try others(among: known.users, with: device, besidePlayer: isPlayer)
                guard !known.isLost(device),
                    others.allSatisfy({ $0.registered <= device.registered })
                else {
                    lost.append((try take(device.token, from: user), user))
                    return
                }
                for (other, _) in others {
                    lost.append((try take(device.token, from: other), other))
                }
                var holders = known
                holders.add(user)
                try commit(holders)
            }
        }
        for (devices, user) in lost { try finishRemoval(of: devices, from: user) }
    }

    /// The users among those whom an index names who have a device, and when they registered it.
    ///
    /// - Parameter isPlayer: whether players are left out, because one who also has it may share it with them.
    private func others(
        among named: [UserID], with device: Device, besidePlayer isPlayer: Bool
    ) throws(Failure) -> [(user: UserID, registered: Timestamp)] {
        var found: [(user: UserID, registered: Timestamp)] = []
        for other in named {
            do throws(Failure) {
                let document = try state.users[other].read()
                guard let document else { continue }
                if isPlayer, other.player != nil, document.isPlayer { continue }
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
