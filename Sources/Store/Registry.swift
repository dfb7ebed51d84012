import Turnstone
import Unix

/// Which devices belong to which users.
///
/// The token index is written before the user's document when a device comes, and after it when one
/// goes, so that a crash between the two leaves an index that names too many; every look-up asks the
/// users' documents, and mends it.
package struct Registry {
    let state: State

    /// Makes `token` one of the player's devices, as of `time`. Doing it again renews the registration.
    ///
    /// - Parameter environment: where APNs knows the token; `nil` leaves what is known of it.
    package func bind(
        _ token: DeviceToken, environment: APNsEnvironment?, to player: PlayerID, at time: Timestamp
    ) throws(Failure) {
        let user = UserID(player)
        try addHolder(user, of: token)
        try state.users.update(DocumentName(user)) { (document) throws(Failure) in
            if !document.hasDevice {
                document.record = try state.playerIndex().watch(player, hint: document.record)
            }
            document.devices.removeAll { $0.token != token && $0.isForgotten(at: time) }
            document.add(token, environment, registered: time)
        }
    }

    /// Ends the player's use of `token`.
    /// - Returns: whether the device was the player's.
    package func unbind(_ token: DeviceToken, from player: PlayerID) throws(Failure) -> Bool {
        try remove(token, of: UserID(player)) { _ in true }
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
    /// - Parameter isBad: whether the token is none that the service knows: it is not pushed to any more, and
    ///   forgotten after 30 days in which the app has not registered it again.
    package func noteRefusal(
        _ reason: String, of token: DeviceToken, of user: UserID, isBad: Bool, at moment: Timestamp
    ) throws(Failure) {
        try state.users.update(DocumentName(user)) { document in
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
        try state.users.update(DocumentName(user)) { document in
            for index in document.devices.indices where document.devices[index].token == token {
                document.devices[index].environment = environment
            }
        }
    }

    /// The users who have the device, in the order of registration.
    package func users(of token: DeviceToken) throws(Failure) -> [UserID] {
        var users: [UserID] = []
        for text in try state.tokens.read(DocumentName(token))?.users ?? [] {
            guard let user = UserID(text) else { continue }
            let document = try state.users.read(DocumentName(user))
            if document?.devices.contains(where: { $0.token == token }) == true {
                users.append(user)
            }
        }
        return users
    }

    private func remove(
        _ token: DeviceToken, of user: UserID, where condition: (Device) -> Bool
    ) throws(Failure) -> Bool {
        let removed = try state.users.update(DocumentName(user)) { document in
            let before = document.devices.count
            document.devices.removeAll { $0.token == token && condition($0) }
            return document.devices.count < before
        }
        if removed { try removeHolder(user, of: token) }
        return removed
    }

    private func addHolder(_ user: UserID, of token: DeviceToken) throws(Failure) {
        let known = try state.tokens.read(DocumentName(token))
        guard known?.users.contains(user.text) != true else { return }
        try state.tokens.update(DocumentName(token)) { holders in
            if !holders.users.contains(user.text) { holders.users.append(user.text) }
        }
    }

    /// Asks the user's document under the index's lock: a registration may have come between.
    private func removeHolder(_ user: UserID, of token: DeviceToken) throws(Failure) {
        try state.tokens.update(DocumentName(token)) { (holders) throws(Failure) in
            let document = try state.users.read(DocumentName(user))
            guard document?.devices.contains(where: { $0.token == token }) != true else { return }
            holders.users.removeAll { $0 == user.text }
        }
    }
}

extension Device {
    /// Whether it has been in quarantine for long enough: nobody will miss it.
    fileprivate func isForgotten(at now: Timestamp) -> Bool {
        quarantined.map { now - $0 > .days(30) } ?? false
    }
}

extension User {
    fileprivate mutating func add(
        _ token: DeviceToken, _ environment: APNsEnvironment?, registered time: Timestamp
    ) {
        guard let index = devices.firstIndex(where: { $0.token == token }) else {
            devices.append(Device(token, environment: environment, registered: time))
            return
        }
        devices[index].renew(environment, at: time)
    }
}
