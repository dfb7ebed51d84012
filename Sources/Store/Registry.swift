import Documents
import Turnstone
import Unix

/// Which devices belong to which users.
///
/// The indices are written before the user's document when a device is added, and after it when a device is
/// removed. So a crash between the two leaves an index that names too many users, never too few. It also names
/// users who replaced a token that somebody else still has. Every look-up checks the users' documents.
package struct Registry {
    let state: State

    /// Removes `token` from the user, whose registrations before `time` are over.
    /// - Returns: whether the device was the user's.
    @export(interface)
    package func unbind(
        _ token: DeviceToken, from user: UserID, at time: Timestamp
    ) throws(Failure) -> Bool {
        try remove(token, of: user, at: time) { _ in true }
    }

    /// Removes a device from the user.
    ///
    /// - Parameter text: its token, as the app sent it, or its id.
    /// - Throws: forbidden if only other users have the token, not found if nobody has it.
    @export(interface)
    package func unregister(
        _ text: String, by user: UserID, at time: Timestamp
    ) throws(Failure) {
        if try unbind(named: text, from: user, at: time) { return }
        for token in DeviceToken.all(named: text) {
            guard try users(of: token).isEmpty else {
                throw .refused(.forbidden, "Not authorized")
            }
        }
        throw .refused(.notFound, "Token not found")
    }

    /// Removes a device from the user.
    ///
    /// - Parameter text: its token, as the app sent it, or its id.
    /// - Returns: whether the device was the user's.
    @export(interface)
    package func unbind(
        named text: String, from user: UserID, at time: Timestamp
    ) throws(Failure) -> Bool {
        // The index may name a user who no longer has the token.
        for token in DeviceToken.all(named: text) {
            if try unbind(token, from: user, at: time) { return true }
        }
        guard let device = try state.users[user].read()?.device(named: text) else { return false }
        return try unbind(device.token, from: user, at: time)
    }

    /// Removes a device that its push service reports as gone since `moment`, unless it registered later.
    /// - Returns: whether it was removed.
    @export(interface)
    @discardableResult
    package func remove(
        _ token: DeviceToken, of user: UserID, goneSince moment: Timestamp
    ) throws(Failure) -> Bool {
        try remove(token, of: user, at: moment) { $0.registered <= moment }
    }

    /// Records that a push service refused a token for a reason of the token's own, unless the device
    /// registered after `moment`.
    ///
    /// - Parameter isBad: whether the service does not know the token. The token then gets no more pushes,
    ///   and is removed after 30 days unless the app registers it again.
    @export(interface)
    package func recordRefusal(
        _ reason: String, of token: DeviceToken, of user: UserID, isBad: Bool, at moment: Timestamp
    ) throws(Failure) {
        try state.users[user].update { document in
            for index in document.devices.indices where document.devices[index].token == token {
                guard document.devices[index].registered <= moment else { continue }
                document.devices[index].recordRefusal(reason, at: moment)
                guard isBad else { continue }
                document.devices[index].quarantined = document.devices[index].quarantined ?? moment
            }
        }
    }

    /// Records that a token was found in this environment, after its registration or the installation named
    /// the other one.
    @export(interface)
    package func move(
        _ token: DeviceToken, of user: UserID, to environment: APNsEnvironment
    ) throws(Failure) {
        try state.users[user].update { document in
            for index in document.devices.indices where document.devices[index].token == token {
                document.devices[index].environment = environment
            }
        }
    }

    /// Whether any of a user's devices also belongs to another user, or may: an index that cannot be used does
    /// not say.
    @export(interface)
    package func sharesDevice(of document: User, _ user: UserID) throws(Failure) -> Bool {
        for device in document.devices {
            if try mayBeShared(device.token, by: user) { return true }
        }
        return false
    }

    /// Whether another user may have a token of the user's.
    package func mayBeShared(_ token: DeviceToken, by user: UserID) throws(Failure) -> Bool {
        do throws(Failure) {
            return try state.tokens[token].read()?.users.contains { $0 != user } ?? false
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return true
        }
    }

    /// The users who have the device, in the order of registration.
    @export(interface)
    package func users(of token: DeviceToken) throws(Failure) -> [UserID] {
        try users(by: .token(token))
    }

    /// All ids by which the users who have the device know it. A user whose document cannot be used is left
    /// out.
    @export(interface)
    package func deviceIDs(of token: DeviceToken) throws(Failure) -> [String] {
        try devices(by: .token(token)).flatMap { $0.device.ids }
    }

    /// The tokens of the Live Activity that the app calls `id`, with their users.
    @export(interface)
    package func devices(ofActivity id: String) throws(Failure) -> [(user: UserID, device: Device)]
    {
        try devices(by: .activity(id))
    }

    /// The tokens of the Live Activities that show the session `id`, with their users.
    @export(interface)
    package func devices(ofSession id: String) throws(Failure) -> [(user: UserID, device: Device)] {
        try devices(by: .session(id))
    }

    private func users(by key: IndexKey) throws(Failure) -> [UserID] {
        var users: [UserID] = []
        for (user, _) in try devices(by: key) where users.last != user { users.append(user) }
        return users
    }

    /// Skips users whose documents cannot be used, so that the others are still found.
    ///
    /// - Throws: the fault of such a document if nobody else was found. "Nobody" would be a wrong answer
    ///   then.
    func devices(by key: IndexKey) throws(Failure) -> [(user: UserID, device: Device)] {
        var found: [(user: UserID, device: Device)] = []
        var fault: Failure?
        for user in try key.document(in: state).read()?.users ?? [] {
            do throws(Failure) {
                let devices = try state.users[user].read()?.devices ?? []
                for device in devices where key.finds(device) { found.append((user, device)) }
            } catch {
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
                fault = error
            }
        }
        if found.isEmpty, let fault { throw fault }
        return found
    }

    private func remove(
        _ token: DeviceToken, of user: UserID, at time: Timestamp,
        where condition: (Device) -> Bool
    ) throws(Failure) -> Bool {
        let removed = try take(token, from: user, where: condition)
        try finishRemoval(of: removed, from: user, at: time)
        if removed.isEmpty { try forgetFormer(user, of: token, at: time) }
        return !removed.isEmpty
    }

    /// Removes a user who does not have the token from its index, which nobody else needs: a program that removed
    /// the device may have been killed before this.
    private func forgetFormer(
        _ user: UserID, of token: DeviceToken, at time: Timestamp
    ) throws(Failure) {
        let index = state.tokens[token]
        do throws(Failure) {
            guard try index.read()?.users.contains(user) == true,
                try !has(user, .token(token))
            else { return }
            try index.update { (holders) throws(Failure) in
                // Checked under the index's lock: a registration may have come in between.
                guard try !has(user, .token(token)), try !mayShare(token, holders, besides: user)
                else { return }
                holders.remove(user)
                // The document does not say any more when the device was registered. A transfer that has taken it
                // from the user ends that registration itself.
                guard try !isMoving(token: token.documentName.file) else { return }
                holders.endRegistrations(before: time)
            }
        } catch {
            // The device is not the user's, whatever the index says.
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
        }
    }

    /// Whether another user whom a token's index names may have the device, or has left a number on its icon: those
    /// who have replaced the token keep their names then.
    private func mayShare(
        _ token: DeviceToken, _ holders: Holders, besides user: UserID
    ) throws(Failure) -> Bool {
        for other in holders.users where other != user {
            if try mayHave(other, in: state.tokens[token]) { return true }
        }
        // Afterwards: whoever leaves the device writes the number down first.
        return try isHandOverPending(of: token.documentName.file)
    }

    /// Removes what else names devices that a user has just lost.
    ///
    /// - Parameters:
    ///   - isReplaced: whether the user has other tokens in their place.
    ///   - time: when an app or a push service has given them up.
    func finishRemoval(
        of devices: [Device], from user: UserID, isReplaced: Bool = false,
        at time: Timestamp? = nil
    ) throws(Failure) {
        try forget(devices, of: user, isReplaced: isReplaced, at: time)
        // If there is a number to hand over, the index says to whom, and is emptied afterwards.
        for device in devices where device.turnsToHandOver == nil {
            do throws(Failure) { try forgetFormerUsers(of: device.token.documentName.file) } catch {
                // The device is removed, so the caller must not be told otherwise.
                error.recordFile()
            }
        }
    }

    /// Empties the index of a token that nobody has any more: it may name users who replaced the token while
    /// somebody else had it.
    ///
    /// - Parameter token: its SHA-256.
    func forgetFormerUsers(of token: String) throws(Failure) {
        let index = state.tokens[named: DocumentName(hash: token)]
        guard try index.read()?.users.isEmpty == false else { return }
        try index.update { (holders) throws(Failure) in
            for user in holders.users {
                if try mayHave(user, in: index) { return }
            }
            // Afterwards: whoever leaves the device writes the number down first.
            guard try !isHandOverPending(of: token) else { return }
            holders.users = []
        }
    }

    /// Whether an index finds a device of the user's. A document that cannot be used does not say, so its user
    /// may have one.
    private func mayHave(
        _ user: UserID, in index: StoredDocument<Holders>
    ) throws(Failure) -> Bool {
        do throws(Failure) { return try has(user, in: index) } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return true
        }
    }

    /// Lets a user correct the number on an icon that all players have left.
    func takeOverBadge(of token: DeviceToken, by user: UserID) throws(Failure) {
        guard let shown = try state.tokens[token].read()?.shownTurns,
            try handOver(shown, on: token.documentName.file, to: user)
        else { return }
        // After a crash before this line, the number is corrected once more.
        try state.tokens[token].update { $0.shownTurns = nil }
    }

    /// Lets a user correct the number on an icon.
    ///
    /// - Parameters:
    ///   - token: the SHA-256 of the device's token.
    ///   - ids: those of the device. The user may know it by one of them, and have replaced the token.
    /// - Returns: whether the user is a player who has the device.
    func handOver(
        _ shown: Int64, on token: String, _ ids: [String] = [], to user: UserID
    ) throws(Failure) -> Bool {
        func place(in document: User) -> Int? {
            func place(where isSame: (Device) -> Bool) -> Int? {
                document.devices.firstIndex {
                    $0.takesBadges(by: state.services) && isSame($0)
                }
            }
            return place { $0.token.documentName.file == token }
                ?? place { $0.ids.contains(where: ids.contains) }
        }
        guard let player = user.player, let known = try state.users[user].read(),
            place(in: known) != nil
        else { return false }
        return try state.users[user].update { (document) throws(Failure) in
            guard let place = place(in: document) else { return false }
            document.devices[place].shownTurns =
                shown.saturatingAdd(document.devices[place].shownTurns ?? 0)
            try state.forgetJudgement(of: player)
            return true
        }
    }

    /// Takes what a player's former token showed for the number on the phone of a new token, if another user
    /// has replaced the former one by it.
    func moveBadge(to token: DeviceToken, of user: UserID) throws(Failure) {
        let ids = try deviceIDs(of: token)
        func isFormer(_ device: Device) -> Bool {
            device.token != token && device.shownTurns ?? 0 > 0
                && device.ids.contains(where: ids.contains)
        }
        guard let player = user.player,
            try state.users[user].read()?.devices.contains(where: isFormer) == true
        else { return }
        try state.users[user].update { (document) throws(Failure) in
            guard let new = document.devices.firstIndex(where: { $0.token == token }),
                let former = document.devices.firstIndex(where: isFormer)
            else { return }
            let shown = document.devices[former].shownTurns ?? 0
            document.devices[new].shownTurns = shown.saturatingAdd(
                document.devices[new].shownTurns ?? 0)
            document.devices[former].shownTurns = nil
            try state.forgetJudgement(of: player)
        }
    }

    /// Removes a device from the user's document. That document alone makes the device the user's.
    func take(
        _ token: DeviceToken, from user: UserID, where condition: (Device) -> Bool = { _ in true }
    ) throws(Failure) -> [Device] {
        guard try has(user, .token(token)) else { return [] }
        return try state.users[user].update { (document) throws(Failure) in
            let taken = document.devices.filter { $0.token == token && condition($0) }
            document.devices.removeAll { $0.token == token && condition($0) }
            try beginHandOvers(of: taken, from: user)
            return taken
        }
    }

    /// Removes the user from the devices' indices, except from an index that finds another device of the
    /// user.
    ///
    /// - Parameters:
    ///   - isReplaced: whether the user has other tokens in their place. A token that somebody else still has,
    ///     or has left a number on, keeps the user's name then: they may share the phone, and correct the
    ///     number on its icon.
    ///   - time: registrations before this moment are over, too: the user's document may have been an older copy.
    ///   - shouldForget: whether to remove the user from this index.
    func forget(
        _ devices: [Device], of user: UserID, isReplaced: Bool = false, at time: Timestamp? = nil,
        where shouldForget: (IndexKey) -> Bool = { _ in true }
    ) throws(Failure) {
        for device in devices {
            for key in IndexKey.all(device.token, device.kind) where shouldForget(key) {
                try key.document(in: state).update { (holders) throws(Failure) in
                    // Checked under the index's lock: a registration may have come in between.
                    guard try !has(user, key) else { return }
                    if case .token = key {
                        holders.endRegistration(of: device)
                        if let time { holders.endRegistrations(before: time) }
                        if isReplaced, try mayShare(device.token, holders, besides: user) { return }
                    }
                    holders.remove(user)
                }
            }
        }
    }

    func has(_ user: UserID, _ key: IndexKey) throws(Failure) -> Bool {
        try state.users[user].read()?.devices.contains { key.finds($0) } ?? false
    }
}
