import Crypto
import Turnstone

/// An accepted notification. It leaves the spool when each of its devices has an outcome.
package struct Notification: Equatable, Sendable {
    /// A lower-case UUID. The `apns-id` of each push is made from it and the device's token, so it is the
    /// same at every attempt.
    package let id: String
    /// The user it is for, if there is only one. Otherwise each ``Delivery`` names its user.
    package private(set) var user: UserID?
    package let accepted: Timestamp
    /// The moment after which it is not worth delivering.
    package var expires: Timestamp
    package var push: PushContent
    /// For a turn notice: the turns that it announces.
    package var turns: NotifiedTurns?
    /// The kind of message, if an app's own backend sent it. Receipts then name devices by the ids that apps
    /// know, and ``Spool/cancel(_:at:takeBack:)`` can cancel it.
    package var kind: String?
    /// Its series, if others replace it or it replaces others.
    package var series: Series?
    /// For a release: the ids of the held messages that it brings. They get its receipts too.
    package var messageIDs: [String] = []
    /// A message's place in the order of acceptance: ``Spools/nextOrder(at:)``. It tells which of two messages
    /// came first, whatever the clock showed.
    package var order: Int64?
    /// Its change to the badge of each of its users, made once, when it is sent.
    package var badge: BadgeChange?
    /// A message's `send_after`: it is not sent before this moment.
    package var notBefore: Timestamp?
    /// How many of its pushes may leave in a minute; `nil` for any number.
    package var throttle: Int64?
    /// The moment at which each user gets a message, if the users have different ones: it is decided by the
    /// user's document, and not earlier than ``scheduled`` or ``accepted``.
    package var delayed: DelayedOption?
    /// How long after a user's own moment the message expires; `nil` if ``expires`` says when. Then
    /// ``expires`` is the latest such moment.
    package var life: Interval?
    /// Whether its sender set the expiration. If not, the message does not expire while it is held:
    /// ``end(heldUntil:)``.
    package var hasOwnExpiration = false
    /// The content that replaces ``push`` when it is sent, taken from the user's or the channel's document at
    /// that moment.
    package var cargo: Cargo?
    /// The users that a message may go to, beyond its devices, when it is sent: JSON that the module
    /// `Audiences` reads.
    package var audience: JSONValue?
    /// For an activity's state: the session to all of whose listeners it was sent.
    package var session: String?

    package enum Cargo: String, Sendable {
        /// The state in the ``ActivityFeed`` of the device, the session or the channel.
        case activity
        /// Nothing. It says that the user's ``HeldMessages`` are due, which earlier versions kept in the
        /// user's document.
        case messages
        /// The messages that were held for a device: ``Spool/messages(of:damaged:)``.
        case release
        /// The user's badge.
        case badge
        /// The number of games that wait for the player.
        case turnBadge = "turn_badge"
    }

    /// A turn notice's change to the player's ledger, for a program that finds the notice before the change
    /// is in the ledger.
    package struct NotifiedTurns: Equatable, Sendable {
        package let notice: Int64
        package let turns: TurnLedger

        package init(notice: Int64, turns: TurnLedger) {
            self.notice = notice
            self.turns = turns
        }
    }

    /// A copy to be held for one of its users, without the members that decide when and to which devices the
    /// notification itself is sent.
    package func heldCopy(for user: UserID, expires: Timestamp) -> Notification {
        var copy = self
        copy.user = user
        copy.expires = expires
        copy.turns = nil
        copy.messageIDs = []
        copy.throttle = nil
        copy.delayed = nil
        copy.life = nil
        copy.cargo = nil
        copy.session = nil
        return copy
    }

    /// The expiration of a message that is held until a moment. If its sender set none, it is twelve hours
    /// after the moment, because the message may still be useful in the morning, but no later than its
    /// receipts are kept, and never earlier than `expires`.
    package func end(heldUntil moment: Timestamp) -> Timestamp {
        guard !hasOwnExpiration else { return expires }
        return max(expires, min(moment + .hours(12), longestHeld))
    }

    /// The expiration of a message in a release that itself expires at a moment.
    package func end(within moment: Timestamp) -> Timestamp {
        hasOwnExpiration ? expires : max(expires, min(moment, longestHeld))
    }

    /// When the message expires for a user with a moment of the user's own.
    package func end(for moment: Timestamp) -> Timestamp {
        guard let life else { return expires }
        let latest = (scheduled ?? accepted) + Self.longestDelay + life
        // It was held meanwhile, and expires later for that.
        return expires > latest ? expires : moment + life
    }

    /// ``notBefore``, if it is later than the acceptance. If it is not, the moment had passed then, by a clock that
    /// may have been ahead.
    package var scheduled: Timestamp? { notBefore.flatMap { $0 > accepted ? $0 : nil } }

    /// A user's own moment is at most this long after the message's: a day, and two changes of the clock.
    package static let longestDelay = Interval.hours(27)

    /// The latest moment until which the message is held.
    private var longestHeld: Timestamp { (scheduled ?? accepted) + ReceiptLog.retention }

    /// The expiration of the message if it is held as long as possible.
    package var latestExpiration: Timestamp { end(heldUntil: longestHeld) }

    /// Whether its sender may ask what became of it.
    package var isMessage: Bool { kind != nil || !messageIDs.isEmpty }

    /// The kind for the user's history: turn, badge, …
    var receiptKind: String? { kind ?? (turns == nil ? cargo?.rawValue : "turn") }

    /// Whether it shows nothing and replaces something that may be shown, for example to remove a request. It
    /// is sent even if its kind is switched off.
    package var isClear: Bool { push.type == .background && series != nil }

    @export(interface)
    package init(
        id: String, user: UserID?, accepted: Timestamp, expires: Timestamp, push: PushContent,
        turns: NotifiedTurns? = nil
    ) {
        self.id = id
        self.user = user
        self.accepted = accepted
        self.expires = expires
        self.push = push
        self.turns = turns
    }
}

/// The id of a player's turn notice by its number: a program that was interrupted finds it again.
package func turnNoticeID(_ player: PlayerID, _ notice: Int64) -> String {
    stableUUID("turns/\(player)/\(notice)")
}
