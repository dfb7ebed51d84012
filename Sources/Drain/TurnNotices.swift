import Documents
import Spool
import Store
import Turnstone
import Unix

/// Fills turn notices when they are sent. A notice names the games that wait by the newest look: those for
/// which it was queued, and those of older notices that no device has accepted.
final class TurnNotices: RunPart {
    let run: Run
    /// By player, the notice in hand that names the player's turns, until the ledger records its result.
    private var inHand: [UserID: String] = [:]

    init(_ run: Run) { self.run = run }

    // MARK: Before sending

    /// - Returns: a verdict if the push is not sent now; `nil` if it is loaded.
    func load(
        _ turns: Notification.NotifiedTurns, _ push: Push, to device: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        guard let player = user.player else { return .superseded(.unregistered) }
        guard device.notice <= turns.notice else { return .superseded(.newer) }
        // Another notice may name the same turns. Its result decides what is left for this one.
        let id = push.job.notification.id
        guard inHand[user] ?? id == id else { return .soon }
        inHand[user] = id
        switch try filling(of: push.job, turns, of: player) {
        case .nothing(let reason): return .superseded(reason)
        case .turns(let waiting, let newest):
            guard device.notice < newest else { return .superseded(.answered) }
            setBadge(push, of: user, waiting: waiting, on: device)
            return nil
        }
    }

    /// The content of the notice, the same for all devices that get it within a second.
    private func filling(
        of job: Job, _ turns: Notification.NotifiedTurns, of player: PlayerID
    ) throws(Failure) -> NoticeFilling {
        let moment = Instant.now
        if let known = job.notice, moment - known.at < .seconds(1) { return known.filling }
        let filling = try fill(job, turns, of: player)
        job.notice = (filling, moment)
        return filling
    }

    private func fill(
        _ job: Job, _ turns: Notification.NotifiedTurns, of player: PlayerID
    ) throws(Failure) -> NoticeFilling {
        let settings = try TurnSettings(run.configuration.variables)
        return try state.users[UserID(player)].update { (document) throws(Failure) in
            document.adopt(turns.turns, notice: turns.notice)
            switch document.preferences.passage(Preferences.turn, at: now, WallClock.minute) {
            case .free: break
            case .closed:
                // These turns are not sent later either.
                document.ledger.markAccepted(turns.notice)
                return .nothing(.unwanted)
            case .held: return .nothing(.held)
            }
            // The look is only a cache. Without it the notice stays as it was queued.
            guard let look = try state.looks[player].read() else {
                return .turns(
                    waiting: job.queuedGames ?? document.turnBadge.waiting, newest: .max)
            }
            let judgement = document.judge(
                look.found, of: player, includingLive: settings.includingLive)
            let games = document.ledger.fill(turns.notice, from: judgement.waiting)
            let newest = games.compactMap { document.ledger[$0.id]?.first }.max() ?? .max
            let texts = try run.texts().texts(for: document.profile.language)
            let notice = TurnNotice(
                new: games, badge: judgement.badge, player: player, site: settings.site,
                environment: settings.environment, texts: texts, now: now)
            guard let notice else { return .nothing(.answered) }
            job.load(PushContent(notice), expires: notice.expiration)
            return .turns(waiting: Int64(judgement.badge), newest: newest)
        }
    }

    /// Loads a push that only corrects the number on a player's icon.
    ///
    /// - Returns: a verdict if the correction is no longer due.
    func loadCorrection(
        _ push: Push, to device: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        guard let player = user.player else { return .superseded(.unregistered) }
        let settings = try TurnSettings(run.configuration.variables)
        let (badge, most) = try state.users[user].update { (document) throws(Failure) in
            if let look = try state.looks[player].read() {
                _ = document.judge(look.found, of: player, includingLive: settings.includingLive)
            }
            return (document.turnBadge, document.turnsToShow(on: device))
        }
        let shown = device.shownTurns ?? 0
        // After a lost answer, it may show the number already, or not yet.
        if badge.waiting == shown, !push.job.file.isInDoubt(push.delivery) {
            return .superseded(.answered)
        }
        if badge.waiting > most { return .superseded(.unwanted) }
        push.job.notice = (.turns(waiting: badge.waiting, newest: .max), Instant.now)
        setBadge(push, of: user, waiting: badge.waiting, on: device)
        return nil
    }

    /// Shows how many games wait, added up over all players who are notified on a device.
    private func setBadge(
        _ push: Push, of user: UserID, waiting: Int64, on device: Device
    ) {
        var others: [(user: UserID, waiting: Int64)] = []
        for other in holders(of: device.token) {
            guard other != user, let document = document(of: other),
                let own = document.devices.first(where: { $0.token == device.token }),
                // Nobody looks at the games of one who is not notified anywhere.
                own.isOpenToMessages
            else { continue }
            others.append((other, document.turnsToShow(on: own)))
        }
        push.job.others[device.token] = others.isEmpty ? nil : others
        push.setBadge(others.reduce(waiting) { $0.saturatingAdd($1.waiting) })
    }

    /// The users who may have a device. An index that cannot be read must not stop this player's notices.
    private func holders(of token: DeviceToken) -> [UserID] {
        do throws(Failure) { return try state.tokens[token].read()?.users ?? [] } catch {
            log.failure(error)
            return []
        }
    }

    /// Another user's document; `nil` also if it cannot be read.
    private func document(of other: UserID) -> User? {
        do throws(Failure) { return try state.users[other].read() } catch {
            log.failure(error)
            return nil
        }
    }

    // MARK: After sending

    /// Records in users' documents the result of a notice or a correction, before the notification leaves the
    /// spool.
    ///
    /// - Parameter isOver: whether all devices have an outcome.
    func recordEnd(of job: Job, isOver: Bool) throws(Failure) {
        guard let user = job.notification.user else { return }
        if let turns = job.notification.turns {
            try recordNotice(turns, of: job, isOver: isOver)
        } else if job.notification.cargo == .turnBadge {
            try recordCorrection(job, of: user, isOver: isOver)
        }
        try recordOthers(of: job)
    }

    private func recordCorrection(
        _ job: Job, of user: UserID, isOver: Bool
    ) throws(Failure) {
        // The clock was ahead, nothing was sent for a day, or the service had a fault. The next look makes
        // another correction, though not within a quarter of an hour.
        let isMissed = isOver && job.file.count(.expired) + job.file.count(.refused) > 0
        guard job.changesIcons || isMissed else { return }
        try state.users[user].update { (document) throws(Failure) in
            if job.changesIcons {
                if let waiting = job.waitingGames { document.recordShown(waiting, on: job.reached) }
                try recordDoubt(of: job, in: &document)
            }
            if isMissed, let player = user.player { try state.forgetJudgement(of: player) }
        }
    }

    /// Records the turns as notified if a device accepted the notice. Otherwise they are new again, and the
    /// next cycle notifies of them.
    private func recordNotice(
        _ turns: Notification.NotifiedTurns, of job: Job, isOver: Bool
    ) throws(Failure) {
        guard let user = job.notification.user, let player = user.player else { return }
        let id = job.notification.id
        try state.users[user].update { (document) throws(Failure) in
            document.adopt(turns.turns, notice: turns.notice)
            if job.file.isReached {
                document.unreached.forget(id)
                document.recordAccepted(
                    turns.notice, badge: job.waitingGames, on: job.reached, at: now)
                if isOver, try leavesIcons(job, of: user, document) {
                    try state.forgetJudgement(of: player)
                }
            } else if isOver {
                let open = try openServices(of: id, to: user)
                if document.unreached.end(id, of: spool.service, besides: open) {
                    document.recordUndelivered(turns.notice, isRefused: job.isRefused, at: now)
                    // Under the user's lock: a cycle that judges the player now must not record its judgement
                    // as the last one.
                    try state.forgetJudgement(of: player)
                }
            }
            try recordDoubt(of: job, in: &document)
        }
    }

    /// Whether icons of a user's other devices show too few games, which the next cycle corrects: the notice
    /// did not reach them, or they were registered since it was queued. Devices that it may still reach are
    /// left out.
    private func leavesIcons(
        _ job: Job, of user: UserID, _ document: User
    ) throws(Failure) -> Bool {
        if job.missedDevices > 0 { return true }
        let devices = document.devices.filter { document.showsFewer(on: $0, by: state.services) }
        guard !devices.isEmpty else { return false }
        let open = try openServices(of: job.notification.id, to: user)
        return devices.contains { !open.contains($0.platform.service) }
    }

    /// The other push services by which a notification may still reach a user.
    private func openServices(of id: String, to user: UserID) throws(Failure) -> [PushService] {
        run.spools.services(
            of: user, among: try run.spools.queues(with: id, besides: spool.service))
    }

    /// Records in the player's document what icons may show after pushes whose result is unknown: those that
    /// an earlier drainer sent, and those that may have arrived. The next cycle corrects the number if it is
    /// wrong.
    private func recordDoubt(of job: Job, in document: inout User) throws(Failure) {
        guard !job.doubtful.isEmpty || job.wasReached, let player = job.notification.user?.player
        else { return }
        // On other devices, a newer notice that was accepted meanwhile has changed the number again.
        let newest = job.notification.turns?.notice ?? .max
        let devices = document.devices.filter { $0.notice <= newest }.map(\.token)
        if job.wasReached, let shown = job.queuedGames {
            document.recordShown(shown, on: devices.filter { !job.reached.contains($0) })
        }
        if let shown = job.waitingGames ?? job.queuedGames {
            document.recordShown(shown, on: devices.filter { job.doubtful.contains($0) })
        }
        try state.forgetJudgement(of: player)
    }

    /// Records for the other users of a device how many of their games its icon shows. Each of them is
    /// corrected separately.
    private func recordOthers(of job: Job) throws(Failure) {
        for token in job.reached {
            for (user, waiting) in job.others[token] ?? [] {
                guard let device = document(of: user)?.devices.first(where: { $0.token == token }),
                    device.shownTurns ?? 0 != waiting
                else { continue }
                try state.users[user].update { (document) throws(Failure) in
                    document.recordShown(waiting, on: [token])
                }
            }
        }
    }

    /// Forgets a job that is no longer in hand.
    func leave(_ job: Job) {
        if let user = job.notification.user, inHand[user] == job.notification.id {
            inHand[user] = nil
        }
    }

    func removeAll() { inHand = [:] }
}
