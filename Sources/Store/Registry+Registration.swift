import Documents
import Turnstone

extension Registry {
    /// Registers `token` as one of the player's devices, as of `time`. Other users who have it keep it.
    /// Calling it again renews the registration.
    ///
    /// - Parameter environment: the APNs environment that has the token; `nil` leaves the known value.
    @export(interface)
    @discardableResult
    package func bind(
        _ token: DeviceToken, environment: APNsEnvironment?, to player: PlayerID, at time: Timestamp
    ) throws(Failure) -> Device {
        var registration = Registration(token)
        registration.environment = environment
        return try bind(registration, to: player, at: time)
    }

    /// Registers a token as one of the player's devices, as of `time`. Other users who have it keep it.
    /// Calling it again renews the registration.
    @export(interface)
    package func bind(
        _ registration: Registration, to player: PlayerID, at time: Timestamp
    ) throws(Failure) -> Device {
        let user = UserID(player)
        let token = registration.token
        let known = try state.tokens[token].read()
        if known?.users.contains(user) == true,
            let renewed = try renew(registration, of: user, asPlayer: true, at: time)
        {
            if known?.shownTurns != nil { try takeOverBadge(of: token, by: user) }
            return renewed
        }
        try checkQuota([registration], for: user, at: time)
        try state.users[user].settle()
        let added = try indexing(user, under: [.token(token)], of: token) { (_) throws(Failure) in
            try add(registration, to: user, asPlayer: true, at: time)
        }
        try finishRemoval(of: added.left, from: user, isReplaced: true)
        if known != nil {
            try takeOverBadge(of: token, by: user)
            try moveBadge(to: token, of: user)
        }
        return added.device
    }

    /// Registers a token for this user alone, as of `time`. Calling it again renews the registration. So does
    /// ``transfer(_:to:at:)`` with a device that another user had.
    ///
    /// The other users lose it first: after a crash in between nobody has it, and never two.
    ///
    /// - Parameter isMissed: whether a notification of a session still waits for a device and was never sent.
    ///   The device leaves the session, so it will not be sent.
    /// - Throws: a conflict if the user has as many devices as allowed, or if a Live Activity of that name
    ///   belongs to another user; ``hasMoved`` if another request has given the device to another user, or
    ///   another token.
    @export(interface)
    package func claim(
        _ registration: Registration, for user: UserID, at time: Timestamp,
        isMissed: (_ carrier: String, _ device: Device) throws(Failure) -> Bool = {
            (_, _) throws(Failure) in false
        }
    ) throws(Failure) -> Device {
        let index = state.tokens[registration.token]
        if registration.moved == nil, try index.read()?.users == [user],
            let renewed = try renew(registration, of: user, asPlayer: false, at: time)
        {
            return renewed
        }
        // Before anybody loses the token.
        if registration.requiresPrevious {
            guard registration.findsDevice(in: try state.users[user].read() ?? User()) else {
                throw Self.hasMoved
            }
        }
        try check(registration, for: user, at: time)
        try state.users[user].settle()
        var lost: [(devices: [Device], user: UserID)] = []
        let added = try index.holding { (known, commit) throws(Failure) in
            var registration = try refreshed(registration, among: known.users)
            var holders = known
            holders.add(user)
            // Written before anybody loses it: after a crash in between, nothing else tells when they registered it.
            if known.users.contains(where: { $0 != user }) {
                for (other, device) in try devices(by: .token(registration.token))
                where other != user { holders.endRegistration(of: device) }
            }
            let began = holders.endRegistrations(before: time)
            try commit(holders)
            try begin(registration, for: user, at: began)
            for other in holders.users where other != user {
                lost.append((try take(registration.token, from: other), other))
            }
            if registration.isFreshMove, lost.allSatisfy({ $0.devices.isEmpty }),
                try !has(user, .token(registration.token))
            {
                try end(registration)
                try commit(known)
                throw Self.hasMoved
            }
            registration.inherit(lost.flatMap { $0.devices })
            let keys = IndexKey.all(registration.token, registration.kind).dropFirst()
            let added: Added
            do throws(Failure) {
                added = try indexing(user, under: keys, of: registration.token) {
                    (joined) throws(Failure) in
                    registration.joined = joined
                    return try state.users[user].update {
                        (document) throws(Failure) in
                        guard registration.findsDevice(in: document) else { throw Self.hasMoved }
                        try leaveSession(&document, for: registration, at: time, isMissed)
                        return try add(
                            registration, to: user, &document, asPlayer: false, at: time)
                    }
                }
            } catch {
                if lost.isEmpty {
                    try undo(error, commit, known, of: user)
                } else if error.leavesNothing {
                    try giveBack(registration, to: lost, at: time)
                    // Their registrations are over all the same.
                    holders.users = known.users
                    try commit(holders)
                }
                throw error
            }
            try end(registration)
            holders.users = [user]
            // One of them may have registered it again in between.
            for device in lost.flatMap({ $0.devices }) { holders.endRegistration(of: device) }
            // The transfer that began at that moment is over, too.
            if registration.moved != nil {
                holders.endRegistrations(before: began + .milliseconds(1))
            }
            try commit(holders)
            return added
        }
        for other in lost { try forget(other.devices, of: other.user) }
        try finishRemoval(of: added.left, from: user, isReplaced: true)
        try takeOverBadge(of: registration.token, by: user)
        return added.device
    }

    package static let hasMoved = Failure(
        .refused(.conflict),
        "the device was changed by another request at the same time; try again",
        cause: "moved")

    typealias Added = (device: Device, left: [Device])

    /// Renews a registration that the indices know already, without their locks.
    ///
    /// - Returns: `nil` if they do not know it.
    private func renew(
        _ registration: Registration, of user: UserID, asPlayer: Bool, at time: Timestamp
    ) throws(Failure) -> Device? {
        let added = try state.users[user].update {
            (document) throws(Failure) -> Added? in
            // Checked under the user's lock: another user's claim removes the token here before it changes
            // the indices.
            guard document.devices.contains(where: { registration.renews($0) }) else { return nil }
            return try add(registration, to: user, &document, asPlayer: asPlayer, at: time)
        }
        guard let added else { return nil }
        try finishRemoval(of: added.left, from: user, isReplaced: true)
        return added.device
    }

    func add(
        _ registration: Registration, to user: UserID, asPlayer: Bool, at time: Timestamp
    ) throws(Failure) -> Added {
        try state.users[user].update { (document) throws(Failure) in
            try add(registration, to: user, &document, asPlayer: asPlayer, at: time)
        }
    }

    private func add(
        _ registration: Registration, to user: UserID, _ document: inout User, asPlayer: Bool,
        at time: Timestamp
    ) throws(Failure) -> Added {
        let wasWatched = document.isWatched(with: state.services)
        if asPlayer {
            document.isPlayer = true
        } else if user.player != nil, !document.isKnownPlayer,
            !document.hasDevice(for: state.services)
        {
            document.isPlayer = false
        }
        let added = try document.add(registration, within: state.quotas(), at: time)
        try beginHandOvers(of: added.left, from: user, isReplaced: true)
        guard document.isWatched(with: state.services), let player = user.player else {
            return added
        }
        document.isKnownPlayer = true
        // Its icon may not count the games yet of which the player was notified on other devices.
        let showsFewer = document.showsFewer(on: added.device, by: state.services)
        // Even if there was a device before: the mark may be missing.
        try state.watch.renew(player, judgingAnew: !wasWatched || showsFewer)
        return added
    }

    /// Removes a Live Activity from a session that it is no longer registered for.
    private func leaveSession(
        _ document: inout User, for registration: Registration, at time: Timestamp,
        _ isMissed: (_ carrier: String, _ device: Device) throws(Failure) -> Bool
    ) throws(Failure) {
        guard registration.kind.isLiveActivity, let place = document.place(of: registration)
        else { return }
        let device = document.devices[place]
        guard let name = device.sessionID, registration.kind.session != name else { return }
        var session: SessionFeeds?
        do throws(Failure) { session = try state.session(of: device) } catch {
            // A damaged session does not prevent joining another one.
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
        }
        guard let session else { return }
        try document.devices[place].leave(session, with: registration.token, at: time) {
            (carrier) throws(Failure) in try isMissed(carrier, device)
        }
    }

    /// Throws a conflict if the user would have more devices than allowed with all of the registrations.
    /// Changes nothing.
    @export(interface)
    package func checkQuota(
        _ registrations: [Registration], for user: UserID, at time: Timestamp
    ) throws(Failure) {
        var document = try state.users[user].read() ?? User()
        for registration in registrations {
            _ = try document.add(registration, within: state.quotas(), at: time)
        }
    }

    /// Throws a conflict if ``claim(_:for:at:isMissed:)`` would. Changes nothing.
    func check(
        _ registration: Registration, for user: UserID, at time: Timestamp
    ) throws(Failure) {
        try checkQuota([registration], for: user, at: time)
        try checkNames(registration, for: user)
    }

    private func checkNames(_ registration: Registration, for user: UserID) throws(Failure) {
        for key in IndexKey.all(registration.token, registration.kind) {
            let holders = try key.document(in: state).read() ?? Holders()
            try check(key, of: registration.token, holders, for: user)
        }
    }

    /// Refuses a Live Activity's name that another user registered first, and one listener more than a
    /// session may have. A user who has this token loses it, and the name with it.
    private func check(
        _ key: IndexKey, of token: DeviceToken, _ holders: Holders, for user: UserID
    ) throws(Failure) {
        switch key {
        case .token: break
        case .activity:
            for other in holders.users where other != user {
                let devices = try state.users[other].read()?.devices ?? []
                guard !devices.contains(where: { key.finds($0) && $0.token != token }) else {
                    throw .refused(
                        .conflict,
                        "another user has registered this activityId; use a globally unique one, such as a UUID"
                    )
                }
            }
        case .session:
            let limit = try state.quotas().listeners
            guard holders.users.count < limit || holders.users.contains(user) else {
                throw .refused(
                    .conflict, "this session has as many listeners as allowed (\(limit))")
            }
        }
    }

    /// Makes sure that a player with a device is looked at.
    ///
    /// - Parameter durably: whether the mark must be durable when this returns.
    /// - Returns: whether the player's mark was missing.
    @export(interface)
    @discardableResult
    package func repair(_ player: PlayerID, durably: Bool = true) throws(Failure) -> Bool {
        let document = state.users[player]
        guard try document.read()?.isWatched(with: state.services) == true,
            try state.watch.read(player) == nil
        else { return false }
        return try document.holding { (user, _) throws(Failure) in
            guard user.isWatched(with: state.services) else { return false }
            try state.watch.make(player, durably: durably)
            return true
        }
    }

    /// Removes the traces of a refused registration, for example if other requests took the user's last
    /// places meanwhile.
    private func undo(
        _ failure: Failure, _ commit: (Holders) throws(Failure) -> Void, _ known: Holders,
        of user: UserID
    ) throws(Failure) {
        guard failure.leavesNothing, !known.users.contains(user) else { return }
        try commit(known)
    }

    /// Runs `body` with the user named in indices, from which nobody removes the user meanwhile.
    ///
    /// - Parameters:
    ///   - joined: the newest number of the session among the indices so far, and how many of its states were
    ///     taken.
    ///   - body: gets both.
    private func indexing<Result>(
        _ user: UserID, under keys: ArraySlice<IndexKey>, of token: DeviceToken,
        joined: (number: Int64, turn: Int64) = (0, 0),
        _ body: (_ joined: (number: Int64, turn: Int64)) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let key = keys.first else { return try body(joined) }
        return try key.document(in: state).holding { (known, commit) throws(Failure) in
            // Checked again, because others may have registered at the same time.
            try check(key, of: token, known, for: user)
            var holders = known
            holders.add(user)
            try commit(holders)
            do throws(Failure) {
                return try indexing(
                    user, under: keys.dropFirst(), of: token,
                    joined: key.isSession ? (known.session.number, known.session.turn) : joined,
                    body)
            } catch {
                try undo(error, commit, known, of: user)
                throw error
            }
        }
    }
}

extension Holders {
    mutating func add(_ user: UserID) {
        if !users.contains(user) { users.append(user) }
    }
}
