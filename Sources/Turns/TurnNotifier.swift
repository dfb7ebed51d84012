import Documents
import Queueing
import Spool
import Store
import Texts
import Turnstone
import Unix

/// Queues one notice for the new turns that a look found.
package struct TurnNotifier {
    private let state: State
    private let spools: Spools
    package let settings: TurnSettings
    private let texts: TextFolder
    private let now: Timestamp

    /// - Parameter report: called with what is wrong with the texts of other languages.
    package init(
        _ variables: Variables, state: State, now: Timestamp,
        report: @escaping (Failure) -> Void = { _ in }
    ) throws(Failure) {
        self.state = state
        spools = state.spools
        settings = try TurnSettings(variables)
        texts = TextFolder(settings, report: report)
        self.now = now
    }

    /// The result of judging a look.
    package struct LookResult {
        package let judgement: TurnRule.Judgement
        /// The notice that was queued.
        package var notice: String?
        /// Whether a push was queued that corrects the number on the player's icons.
        package var isBadgeCorrected = false
        /// Whether a look that began later was judged before, so that this one changed nothing.
        package var isOutdated = false
        /// Whether the player has a device that takes notices.
        package var isWatched = true
        /// Whether something must be sent later, so that the player has to be judged again.
        package var isHeld = false

        package var hasQueued: Bool { notice != nil || isBadgeCorrected }
    }

    /// Queues a notice of the turns for which none was queued yet. They count as notified when a device has
    /// accepted the notice: the drainer records that before it removes the notice.
    ///
    /// The notice's number gives it its id. So a notice that a crash left in the spool, unknown to the
    /// ledger, is found under the next number, and its turns are not queued again.
    ///
    /// - Parameters:
    ///   - isOutdated: whether a look that began later was judged already; checked under the user's lock.
    ///   - unwatch: called under the user's lock if the player has no device.
    ///   - settled: called under the user's lock if nothing needs judging again before a look finds something
    ///     new.
    package func notify(
        _ player: PlayerID, of found: ActiveGames,
        unless isOutdated: () throws(Failure) -> Bool, unwatch: () throws(Failure) -> Void,
        settled: () throws(Failure) -> Void
    ) throws(Failure) -> LookResult {
        try state.users[player].update { (user) throws(Failure) in
            try adopt(&user, player)
            try forgetLost(&user, player)
            var judged = user
            let judgement = judged.judge(found, of: player, includingLive: settings.includingLive)
            guard user.isWatched(with: state.services) else {
                // A game that does not wait now is new when it waits again, also for the next device. Of an erased
                // player nothing is written.
                if !user.ledger.entries.isEmpty, try !isOutdated() { user.ledger = judged.ledger }
                try unwatch()
                return LookResult(judgement: judgement, isWatched: false)
            }
            guard try !isOutdated() else {
                return LookResult(judgement: judgement, isOutdated: true)
            }
            var result = LookResult(judgement: judgement)
            user = judged
            switch user.preferences.passage(Preferences.turn, at: now, WallClock.minute) {
            case .free: result.isHeld = user.silence?.holds(at: now) ?? false
            case .held: result.isHeld = true
            case .closed:
                // These turns are not sent later either.
                user.ledger.mark(judgement.new, notice: 0)
                result.isBadgeCorrected = try correctBadge(&user, player, notified: 0)
                result.isHeld = needsCorrection(user, notified: 0) && !result.isBadgeCorrected
                if !result.isHeld, !result.hasQueued { try settled() }
                return result
            }
            let known = Int64(judgement.old.count { user.ledger[$0.id]?.isNotified == true })
            if !judgement.new.isEmpty, !result.isHeld {
                result.notice = try queue(judgement, &user, player)
            } else {
                result.isBadgeCorrected = try correctBadge(&user, player, notified: known)
            }
            if judgement.new.isEmpty {
                result.isHeld = needsCorrection(user, notified: known) && !result.isBadgeCorrected
            }
            // What is queued may be damaged or removed by hand before anybody gets it.
            if !result.isHeld, !result.hasQueued, user.ledger.openNotices.isEmpty { try settled() }
            return result
        }
    }

    private func queue(
        _ judgement: TurnRule.Judgement, _ user: inout User, _ player: PlayerID
    ) throws(Failure) -> String? {
        guard let notification = notification(judgement, user, player) else { return nil }
        try spools.accept(notification, to: deliveries(user))
        user.notices += 1
        user.ledger.queue(judgement.new, notice: user.notices)
        return notification.id
    }

    /// Queues a push that corrects the number on the player's icons and shows nothing else: down if games
    /// were answered elsewhere or paused, up if they go on. Only one is queued at a time, and not more often
    /// than ``TurnBadge/pause`` allows. Its content is made when it is sent.
    ///
    /// - Parameter notified: how many of the waiting games the player was notified of. The number never
    ///   counts others.
    private func correctBadge(
        _ user: inout User, _ player: PlayerID, notified: Int64
    ) throws(Failure) -> Bool {
        guard needsCorrection(user, notified: notified) else { return false }
        if let pending = user.turnBadge.correction, try spools.contains(pending) { return false }
        // If icons only show too few, the last notice corrects them when it is sent.
        if !needsCorrection(user, notified: 0) {
            if try spools.contains(id(player, user.notices)) { return false }
        }
        let due = user.turnBadge.nextCorrection(at: now)
        var notification = Notification(
            id: try newID(for: UserID(player)),
            user: UserID(player),
            accepted: now, expires: due + .days(1),
            push: PushContent(
                badge: user.turnBadge.waiting, collapseID: "turn-badge-\(player)"))
        notification.cargo = .turnBadge
        let wrong = user.devices.filter {
            user.showsWrongNumber($0, notified: notified, state.services)
        }
        let tokens = wrong.map(\.token)
        let deliveries = deliveries(user).filter { $0.token.map(tokens.contains) ?? false }
        try spools.accept(
            notification, to: deliveries, notBefore: due > now ? .putOff(until: due) : nil)
        user.turnBadge.correction = notification.id
        user.turnBadge.correctionDue = due
        return true
    }

    /// Records the turns of notices that were queued but not recorded because of a crash.
    private func adopt(_ user: inout User, _ player: PlayerID) throws(Failure) {
        while let queued = try spools.find(id(player, user.notices + 1))?.turns {
            user.adopt(queued.turns, notice: queued.notice)
        }
    }

    /// Makes turns new again whose notice is no longer in the spool, because it was damaged or removed by
    /// hand. (The drainer records the end of a notice before it removes it.) Also for a notice that is put
    /// off if a device has registered since: that device need not wait until the others can be reached. It
    /// waits if one of them may have the notice already, because a further notice would go there, too.
    private func forgetLost(_ user: inout User, _ player: PlayerID) throws(Failure) {
        for notice in user.ledger.openNotices {
            let id = id(player, notice)
            guard try spools.contains(id), try !hasNewDevice(user, since: id) else {
                user.ledger.forget(notice)
                continue
            }
        }
    }

    /// Whether a notice is put off and does not cover a device that has registered since.
    private func hasNewDevice(_ user: User, since notice: String) throws(Failure) -> Bool {
        guard let putOff = try spools.putOff(notice, at: now), !putOff.isInDoubt else {
            return false
        }
        return user.devices.contains { device in
            device.takesMessages(by: state.services)
                && device.created >= putOff.notification.accepted
                && !putOff.devices.contains(device.id)
        }
    }

    private func id(_ player: PlayerID, _ notice: Int64) -> String {
        turnNoticeID(player, notice)
    }

    private func notification(
        _ judgement: TurnRule.Judgement, _ user: User, _ player: PlayerID
    ) -> Notification? {
        let notice = TurnNotice(
            new: judgement.new, badge: judgement.badge, player: player, site: settings.site,
            environment: settings.environment, texts: texts.texts(for: user.profile.language),
            now: now)
        guard let notice else { return nil }
        let number = user.notices + 1
        return Notification(
            id: id(player, number), user: UserID(player), accepted: now, expires: notice.expiration,
            push: PushContent(notice),
            turns: Notification.NotifiedTurns(
                notice: number, turns: TurnLedger().marking(judgement.new, notice: number)))
    }

    private func needsCorrection(_ user: User, notified: Int64) -> Bool {
        user.needsCorrection(notified: notified, state.services)
    }

    /// One delivery for each device that takes messages; devices that were reached before come first.
    private func deliveries(_ user: User) -> [Delivery] {
        let deliveries = user.devices.filter { $0.takesMessages(by: state.services) }
            .map { $0.delivery() }
        return deliveries.filter(\.isProven) + deliveries.filter { !$0.isProven }
    }
}

extension User {
    /// Whether the device's icon shows more waiting games than there are, or fewer than the player was
    /// notified of.
    fileprivate func showsWrongNumber(
        _ device: Device, notified: Int64, _ services: PushServiceSet
    ) -> Bool {
        guard let shown = device.gamesOnIcon(by: services) else { return false }
        return shown > turnBadge.waiting || shown < notified
    }

    fileprivate func needsCorrection(notified: Int64, _ services: PushServiceSet) -> Bool {
        devices.contains { showsWrongNumber($0, notified: notified, services) }
    }
}
