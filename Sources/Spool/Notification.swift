import Turnstone

/// A notification that was accepted: it leaves the spool when every device that it is for has an outcome.
package struct Notification: Equatable, Sendable {
    /// A lower-case UUID. With a device's token it makes the push's own id, the same at every attempt.
    package let id: String
    /// Whom it is for, where it is for one user only; else each ``Delivery`` says so.
    package let user: UserID?
    package let accepted: Timestamp
    /// After this nobody wants it any more.
    package var expires: Timestamp
    package var push: PushContent
    /// The player's turns that it tells of.
    package var turns: NotifiedTurns?
    /// What kind of message it is, where an app's own backend sent it: its receipts name devices as apps know
    /// them, and ``Spool/cancel(_:at:)`` can end it.
    package var kind: String?
    /// What it is a newer or an older state of, where others replace it or are replaced by it.
    package var series: Series?
    /// The ids of the messages that it brings, where they were held for the user: they have its receipts too.
    package var messageIDs: [String] = []
    /// Nanoseconds since 1970 by the system's clock, when a message was accepted: tells which of two came
    /// first.
    package var order: Int64?
    /// What it does to the badge of each of its users, once, when it is sent.
    package var badge: BadgeChange?
    /// A message's `send_after`: it is not sent before this moment.
    package var notBefore: Timestamp?
    /// Whether its sender said when it expires: else it does not expire while it is held, as
    /// ``end(heldUntil:)`` says.
    package var hasOwnExpiration = false
    /// What it carries in the place of ``push``, as the user's or the channel's document has it when it is
    /// sent.
    package var cargo: Cargo?
    /// Of an activity's state: the session to whose listeners it was sent as a whole.
    package var session: String?

    package enum Cargo: String, Sendable {
        /// What the ``ActivityFeed`` of the device, the session or the channel has.
        case activity
        /// Nothing: it reminds of the user's ``HeldMessages``, as earlier versions kept them.
        case messages
        /// The messages that were held for a device: ``Spool/messages(of:damaged:)``.
        case release
        /// The user's badge.
        case badge
        /// How many games wait for the player.
        case turnBadge = "turn_badge"
    }

    /// What a turn notice does to the player's ledger, for whoever finds the notice before the ledger
    /// knows of it.
    package struct NotifiedTurns: Equatable, Sendable {
        package let notice: Int64
        package let turns: TurnLedger

        package init(notice: Int64, turns: TurnLedger) {
            self.notice = notice
            self.turns = turns
        }
    }

    /// When a message is over that is held until a moment: twelve hours after that, where its sender did not
    /// say when it expires, since nobody said that it is worth nothing in the morning; but no later than its
    /// receipts are kept.
    package func end(heldUntil moment: Timestamp) -> Timestamp {
        guard !hasOwnExpiration else { return expires }
        return max(expires, min(moment + .hours(12), longestHeld))
    }

    /// When a message is over that a notification brings which is over at a moment itself.
    package func end(within moment: Timestamp) -> Timestamp {
        hasOwnExpiration ? expires : max(expires, min(moment, longestHeld))
    }

    /// No message is held for longer.
    private var longestHeld: Timestamp { (notBefore ?? accepted) + ReceiptLog.retention }

    /// When a message is over, however long it is held.
    var latestExpiration: Timestamp { end(heldUntil: longestHeld) }

    /// Whether whoever sent it may ask what became of it.
    package var isMessage: Bool { kind != nil || !messageIDs.isEmpty }

    /// Whether it shows nothing and is a newer state of something that may be shown, as what takes a request
    /// away: it goes out though its kind is switched off.
    package var isClear: Bool { push.type == .background && series != nil }

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
