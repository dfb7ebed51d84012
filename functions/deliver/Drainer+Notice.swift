import Documents
import Spool
import Store
import Turnstone
import Unix

/// What a turn notice came to when it was about to be sent.
enum NoticeFilling {
    /// It tells of the player's turns as they are now; so many games wait.
    case turns(waiting: Int64)
    /// It is not sent, for this reason.
    case nothing(String)
}

// A turn notice is made when it is sent: of the games that wait by the newest look, those that it was queued for and
// all others of which no device was told yet.

extension Drainer {
    func loadNotice(
        _ told: Notification.TurnsTold, _ push: inout Push, to device: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        guard let player = user.player else { return .superseded("unregistered") }
        guard device.notice <= told.notice else { return .superseded("newer") }
        // Another notice may tell of the same turns: what becomes of it decides what is left for this one.
        let id = push.job.notification.id
        guard telling[user] ?? id == id else { return .soon }
        telling[user] = id
        switch try filling(of: push.job, told, of: player) {
        case .nothing(let reason): return .superseded(reason)
        case .turns(let waiting):
            setTurnBadge(&push, of: user, waiting: waiting, on: device)
            return nil
        }
    }

    /// For all devices that get it at about the same time it is the same.
    private func filling(
        of job: Job, _ told: Notification.TurnsTold, of player: PlayerID
    ) throws(Failure) -> NoticeFilling {
        let moment = Instant.now
        if let known = job.notice, moment - known.at < .seconds(1) { return known.filling }
        let filling = try fill(job, told, of: player)
        job.notice = (filling, moment)
        return filling
    }

    private func fill(
        _ job: Job, _ told: Notification.TurnsTold, of player: PlayerID
    ) throws(Failure) -> NoticeFilling {
        let settings = try TurnSettings(configuration.variables)
        return try state.users[UserID(player)].update { (document) throws(Failure) in
            document.adopt(told.turns, notice: told.notice)
            switch document.preferences.passage(Preferences.turn, at: now, WallClock.minute) {
            case .free: break
            case .closed:
                // Not even later.
                document.ledger.noteTold(told.notice)
                return .nothing("unwanted")
            case .held: return .nothing("held")
            }
            // A cache: without it the notice stays what it was when it was queued.
            guard let look = try state.looks[player].read() else {
                return .turns(waiting: job.queuedGames ?? document.turnBadge.waiting)
            }
            let judgement = document.judge(look.found, of: player, liveToo: settings.liveToo)
            let games = document.ledger.fill(told.notice, from: judgement.waiting)
            let notice = TurnNotice(
                new: games, badge: judgement.badge, player: player, site: settings.site,
                environment: settings.environment, now: now)
            guard let notice else { return .nothing("answered") }
            job.load(PushContent(notice), expires: notice.expiration)
            return .turns(waiting: Int64(judgement.badge))
        }
    }

    /// Corrects the number on the player's icons, if that is still due.
    func loadTurnBadge(
        _ push: inout Push, to device: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        guard let player = user.player else { return .superseded("unregistered") }
        let settings = try TurnSettings(configuration.variables)
        let (badge, preferences) = try state.users[user].update { (document) throws(Failure) in
            if let look = try state.looks[player].read() {
                _ = document.judge(look.found, of: player, liveToo: settings.liveToo)
            }
            return (document.turnBadge, document.preferences)
        }
        let shown = device.shownTurns ?? 0
        if badge.waiting == shown { return .superseded("answered") }
        // A player who wants no notices is not told by a number either.
        if badge.waiting > shown, preferences.kinds[Preferences.turn] == .bool(false) {
            return .superseded("unwanted")
        }
        push.job.notice = (.turns(waiting: badge.waiting), Instant.now)
        setTurnBadge(&push, of: user, waiting: badge.waiting, on: device)
        return nil
    }

    /// Shows how many games wait for all the players who are told of them on a device.
    private func setTurnBadge(
        _ push: inout Push, of user: UserID, waiting: Int64, on device: Device
    ) {
        var others: [(user: UserID, waiting: Int64)] = []
        for other in holders(of: device.token) {
            guard other != user, let document = known(other),
                document.devices.contains(where: { $0.token == device.token })
            else { continue }
            others.append((other, document.turnBadge.waiting))
        }
        push.job.others[device.token] = others.isEmpty ? nil : others
        push.setBadge(others.reduce(waiting) { $0.saturatingAdd($1.waiting) })
    }

    /// Records for the other users of a device what its icon shows of their games: each of them corrects what is theirs.
    func tellOthers(of job: Job) throws(Failure) {
        for token in job.reached {
            for (user, waiting) in job.others[token] ?? [] {
                guard let device = known(user)?.devices.first(where: { $0.token == token }),
                    device.shownTurns ?? 0 != waiting
                else { continue }
                try state.users[user].update { (document) throws(Failure) in
                    document.noteShown(waiting, on: [token])
                }
            }
        }
    }

    /// The users who may have a device. An index that cannot be read must not keep this player's notices.
    private func holders(of token: DeviceToken) -> [UserID] {
        do throws(Failure) { return try state.tokens[token].read()?.users ?? [] } catch {
            log.failure(error)
            return []
        }
    }

    /// Another user's document; `nil` also where it cannot be read.
    private func known(_ other: UserID) -> User? {
        do throws(Failure) { return try state.users[other].read() } catch {
            log.failure(error)
            return nil
        }
    }

    /// Records in the player's document what a notice has come to: told, where a device took it; else its turns are new
    /// again, and the next cycle tells of them.
    func tellPlayer(_ told: Notification.TurnsTold, of job: Job, isOver: Bool) throws(Failure) {
        guard let user = job.notification.user, let player = user.player else { return }
        try state.users[user].update { (document) throws(Failure) in
            document.adopt(told.turns, notice: told.notice)
            if job.file.isReached {
                document.noteTold(
                    told.notice, badge: job.waitingGames, on: job.reached, at: now)
            } else if isOver {
                document.noteUntold(told.notice, isRefused: job.isRefused, at: now)
                // Under the user's lock: a cycle that judges the player now must not take its judgement for the last.
                try state.forgetJudgement(of: player, hint: document.record)
            }
            try recordDoubt(of: job, in: &document)
        }
    }

    /// Records in the player's document what icons show by pushes of which nobody knows: those that an earlier drainer has
    /// sent, and those that may have arrived. The next cycle corrects it where it is wrong.
    func recordDoubt(of job: Job, in document: inout User) throws(Failure) {
        guard !job.doubtful.isEmpty || job.wasReached, let player = job.notification.user?.player
        else { return }
        // On other devices, a newer notice that was taken meanwhile has changed the number again.
        let newest = job.notification.turns?.notice ?? .max
        let devices = document.devices.filter { $0.notice <= newest }.map(\.token)
        if job.wasReached, let shown = job.queuedGames {
            document.noteShown(shown, on: devices.filter { !job.reached.contains($0) })
        }
        if let shown = job.waitingGames ?? job.queuedGames {
            document.noteShown(shown, on: devices.filter { job.doubtful.contains($0) })
        }
        try state.forgetJudgement(of: player, hint: document.record)
    }
}
