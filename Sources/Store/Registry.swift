import Documents
import Turnstone
import Unix

/// Which devices belong to which users.
///
/// The indices are written before the user's document when a device comes, and after it when one goes, so
/// that a crash between the two leaves an index that names too many: every look-up asks the users' documents.
package struct Registry {
    let state: State

    /// Ends the user's use of `token`.
    /// - Returns: whether the device was the user's.
    package func unbind(_ token: DeviceToken, from user: UserID) throws(Failure) -> Bool {
        try remove(token, of: user) { _ in true }
    }

    /// Ends the user's use of a token, as the app sent it.
    /// - Throws: forbidden where it is other users' only, not found where it is nobody's.
    package func unregister(_ text: String, by user: UserID) throws(Failure) {
        let tokens = DeviceToken.all(named: text)
        for token in tokens {
            if try unbind(token, from: user) { return }
        }
        for token in tokens {
            guard try users(of: token).isEmpty else {
                throw .refused(.forbidden, "Not authorized")
            }
        }
        throw .refused(.notFound, "Token not found")
    }

    /// Removes a device that its push service calls gone since `moment`, unless it registered later.
    /// - Returns: whether it was removed.
    @discardableResult
    package func remove(
        _ token: DeviceToken, of user: UserID, goneSince moment: Timestamp
    ) throws(Failure) -> Bool {
        try remove(token, of: user) { $0.registered <= moment }
    }

    /// Notes that a push service refused a token for a reason that is the token's own, unless it registered after
    /// `moment`.
    ///
    /// - Parameter isBad: whether the service does not know the token: it is not pushed to any more, and
    ///   forgotten after 30 days in which the app has not registered it again.
    package func noteRefusal(
        _ reason: String, of token: DeviceToken, of user: UserID, isBad: Bool, at moment: Timestamp
    ) throws(Failure) {
        try state.users[user].update { document in
            for index in document.devices.indices where document.devices[index].token == token {
                guard document.devices[index].registered <= moment else { continue }
                document.devices[index].noteRefusal(reason, at: moment)
                guard isBad else { continue }
                document.devices[index].quarantined = document.devices[index].quarantined ?? moment
            }
        }
    }

    /// Notes in which environment a token was found that its registration, or the installation, has looked for in
    /// the other one.
    package func move(
        _ token: DeviceToken, of user: UserID, to environment: APNsEnvironment
    ) throws(Failure) {
        try state.users[user].update { document in
            for index in document.devices.indices where document.devices[index].token == token {
                document.devices[index].environment = environment
            }
        }
    }

    /// Whether another user has one of the user's devices as well.
    package func sharesDevice(_ user: UserID) throws(Failure) -> Bool {
        for device in try state.users[user].read()?.devices ?? [] {
            let holders = try state.tokens[device.token].read()?.users ?? []
            if holders.contains(where: { $0 != user }) { return true }
        }
        return false
    }

    /// The users who have the device, in the order of registration.
    package func users(of token: DeviceToken) throws(Failure) -> [UserID] {
        try users(by: .token(token))
    }

    /// The tokens of the Live Activity that the app calls so, with their users.
    package func devices(ofActivity id: String) throws(Failure) -> [(user: UserID, device: Device)]
    {
        try devices(by: .activity(id))
    }

    /// The tokens of the Live Activities that show the session that the app calls so, with their users.
    package func devices(ofSession id: String) throws(Failure) -> [(user: UserID, device: Device)] {
        try devices(by: .session(id))
    }

    private func users(by key: IndexKey) throws(Failure) -> [UserID] {
        var users: [UserID] = []
        for (user, _) in try devices(by: key) where users.last != user { users.append(user) }
        return users
    }

    /// Without the users whose documents cannot be used: they keep nobody else from being found.
    ///
    /// - Throws: what is wrong with such a document where nobody else was found, so that nobody hears that there is none.
    private func devices(by key: IndexKey) throws(Failure) -> [(user: UserID, device: Device)] {
        var found: [(user: UserID, device: Device)] = []
        var fault: Failure?
        for user in try key.document(in: state).read()?.users ?? [] {
            do throws(Failure) {
                let devices = try state.users[user].read()?.devices ?? []
                for device in devices where key.finds(device) { found.append((user, device)) }
            } catch {
                guard error.isOfOneDocument else { throw error }
                error.noteFile()
                fault = error
            }
        }
        if found.isEmpty, let fault { throw fault }
        return found
    }

    private func remove(
        _ token: DeviceToken, of user: UserID, where condition: (Device) -> Bool
    ) throws(Failure) -> Bool {
        let removed = try take(token, from: user, where: condition)
        try forget(removed, of: user)
        do throws(Failure) { try handOverBadges(of: removed, from: user) } catch {
            // The device is gone: whoever asked for that must not hear that it is not.
            error.noteFile()
        }
        return !removed.isEmpty
    }

    /// Lets another player correct the number on an icon, now or once one registers the device. The games of a user who has
    /// lost the device still count in it, and nobody else knows of them.
    package func handOverBadges(of devices: [Device], from user: UserID) throws(Failure) {
        for device in devices {
            guard let shown = device.shownTurns, shown > 0 else { continue }
            try state.tokens[device.token].update {
                $0.shownTurns = shown.saturatingAdd($0.shownTurns ?? 0)
            }
            var others: [UserID] = []
            do throws(Failure) { others = try users(of: device.token) } catch {
                guard error.isOfOneDocument else { throw error }
            }
            for other in others where other != user {
                if try takeOverBadge(of: device.token, by: other) { break }
            }
        }
    }

    /// Lets a user correct the number on an icon that others have left.
    ///
    /// - Returns: whether the user is a player who has the device.
    @discardableResult
    func takeOverBadge(of token: DeviceToken, by user: UserID) throws(Failure) -> Bool {
        guard let shown = try state.tokens[token].read()?.shownTurns,
            try handOver(shown, on: token, to: user)
        else { return false }
        // A crash before this has it corrected once more.
        try state.tokens[token].update { $0.shownTurns = nil }
        return true
    }

    /// - Returns: whether the user is a player who has the device.
    private func handOver(
        _ shown: Int64, on token: DeviceToken, to user: UserID
    ) throws(Failure) -> Bool {
        guard let player = user.player else { return false }
        return try state.users[user].update { (document) throws(Failure) in
            let place = document.devices.firstIndex { $0.token == token && $0.takesMessages }
            guard let place else { return false }
            document.devices[place].shownTurns =
                shown.saturatingAdd(document.devices[place].shownTurns ?? 0)
            try state.forgetJudgement(of: player, hint: document.record)
            return true
        }
    }

    /// Takes a device out of the user's document, which is all that makes it the user's.
    func take(
        _ token: DeviceToken, from user: UserID, where condition: (Device) -> Bool = { _ in true }
    ) throws(Failure) -> [Device] {
        guard try has(user, .token(token)) else { return [] }
        return try state.users[user].update { document in
            let taken = document.devices.filter { $0.token == token && condition($0) }
            document.devices.removeAll { $0.token == token && condition($0) }
            return taken
        }
    }

    /// Takes the user out of the indices that led to devices, unless one of them leads to another device.
    ///
    /// - Parameter isMeant: whether to take the user out of an index.
    func forget(
        _ devices: [Device], of user: UserID, where isMeant: (IndexKey) -> Bool = { _ in true }
    ) throws(Failure) {
        for device in devices {
            for key in IndexKey.all(device.token, device.kind) where isMeant(key) {
                try key.document(in: state).update { (holders) throws(Failure) in
                    // Asked under the index's lock: a registration may have come between.
                    if try !has(user, key) { holders.remove(user) }
                }
            }
        }
    }

    func has(_ user: UserID, _ key: IndexKey) throws(Failure) -> Bool {
        try state.users[user].read()?.devices.contains { key.finds($0) } ?? false
    }
}
