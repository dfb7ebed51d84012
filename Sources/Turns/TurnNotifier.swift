import Crypto
import Spool
import Store
import Turnstone
import Unix

/// Makes of what a look found the one notice that the player is owed, once.
package struct TurnNotifier {
    private let state: State
    private let spool: Spool
    /// Whether blitz, rapid and live games count, too.
    package let liveToo: Bool
    private let environment: String?
    private let now: Timestamp

    package init(_ variables: Variables, state: State, now: Timestamp) throws(Failure) {
        self.state = state
        spool = Spool(state: state.folder)
        liveToo = try variables.flag("NOTIFY_LIVE_GAMES", standard: false)
        environment = variables.text("ENVIRONMENT")
        self.now = now
    }

    /// What a look came to.
    package struct Told {
        package let judgement: TurnRule.Judgement
        /// The notice that was queued.
        package var notice: String?
        /// Whether another look that began later was judged already, so that this one changed nothing.
        package var isOutdated = false
        /// Whether the player has a device to be told on.
        package var isWatched = true
        /// Whether the player wants to be told later, and so has to be judged again.
        package var isHeld = false
    }

    /// Queues a notice of the turns that the player was not told of, and marks them as told.
    ///
    /// The notice's number gives it its id. So a notice that a crash left in the spool, unknown to the
    /// ledger, is found under the next number, and its turns are marked rather than told again. It is
    /// still in the spool: the drainer marks a notice's turns before it lets the notice go.
    ///
    /// - Parameters:
    ///   - isOutdated: whether a look that began later was judged already; asked under the user's lock.
    ///   - unwatch: called under the user's lock where the player has no device.
    package func tell(
        _ player: PlayerID, of found: ActiveGames, unless isOutdated: () -> Bool,
        unwatch: () -> Void
    ) throws(Failure) -> Told {
        try state.users.update(DocumentName(UserID(player))) { (user) throws(Failure) in
            try adopt(&user, player)
            let judgement = judge(found, user.ledger, player)
            guard user.hasDevice else {
                unwatch()
                return Told(judgement: judgement, isWatched: false)
            }
            guard !isOutdated() else { return Told(judgement: judgement, isOutdated: true) }
            user.ledger = judgement.ledger
            switch user.preferences.passage(Preferences.turn, at: now, WallClock.minute) {
            case .free: break
            case .held: return Told(judgement: judgement, isHeld: true)
            case .closed: return Told(judgement: judgement)
            }
            guard let notification = notification(judgement, user, player) else {
                return Told(judgement: judgement)
            }
            try spool.accept(notification, to: deliveries(user))
            user.notices += 1
            user.ledger.mark(judgement.new, notice: user.notices)
            return Told(judgement: judgement, notice: notification.id)
        }
    }

    private func judge(
        _ found: ActiveGames, _ ledger: TurnLedger, _ player: PlayerID
    ) -> TurnRule.Judgement {
        TurnRule.judge(found, ledger: ledger, player: player, liveToo: liveToo)
    }

    /// Marks the turns of notices that were queued, but whose mark a crash prevented.
    private func adopt(_ user: inout User, _ player: PlayerID) throws(Failure) {
        while let told = try spool.find(id(player, user.notices + 1))?.turns {
            user.adopt(told.turns, notice: told.notice)
        }
    }

    private func id(_ player: PlayerID, _ notice: Int64) -> String {
        stableUUID("turns/\(player)/\(notice)")
    }

    private func notification(
        _ judgement: TurnRule.Judgement, _ user: User, _ player: PlayerID
    ) -> Notification? {
        let notice = TurnNotice(
            new: judgement.new, badge: judgement.badge, player: player, environment: environment,
            now: now)
        guard let notice else { return nil }
        let number = user.notices + 1
        return Notification(
            id: id(player, number), user: UserID(player), accepted: now, expires: notice.expiration,
            push: PushContent(
                type: "alert", priority: 10, collapseID: notice.collapseID,
                payload: notice.payload),
            turns: Notification.TurnsTold(
                notice: number, turns: TurnLedger().marking(judgement.new, notice: number)))
    }

    /// To the user's devices, those that were reached before first.
    private func deliveries(_ user: User) -> [Delivery] {
        let deliveries = user.devices.filter(\.takesMessages).map { device in
            Delivery(
                token: device.token, environment: device.environment,
                isProven: device.reached != nil)
        }
        return deliveries.filter(\.isProven) + deliveries.filter { !$0.isProven }
    }
}
