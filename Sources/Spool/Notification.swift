import Crypto
import Turnstone

/// What a push service is asked to show, the same for every device but for the badge.
package struct PushContent: Equatable, Sendable {
    /// APNs' push type, such as `alert`.
    package var type: String
    /// 10, 5 or 1.
    package var priority: Int
    /// At most 64 bytes; a later push with the same one takes its place on screen.
    package var collapseID: String?
    /// What the app receives: an object with `aps` in it.
    package var payload: JSONValue
    /// Whether APNs keeps it for a device that is away, until the notification expires; else it tries once.
    package var isKept = true

    package init(type: String, priority: Int, collapseID: String?, payload: JSONValue) {
        self.type = type
        self.priority = priority
        self.collapseID = collapseID
        self.payload = payload
    }
}

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
    package var turns: TurnsTold?
    /// What kind of message it is, where an app's own backend sent it: its receipts name devices as apps know
    /// them, and ``Spool/cancel(_:at:)`` can end it.
    package var kind: String?
    /// What it is a newer or an older state of, where others replace it or are replaced by it.
    package var series: Series?
    /// The ids of the messages that it brings, where they were held for the user: they have its receipts too.
    package var messageIDs: [String] = []
    /// Nanoseconds since 1970 by the system's clock, when a message was accepted: tells which of two came first.
    package var order: Int64?
    /// What it does to the badge of each of its users, once, when it is sent.
    package var badge: BadgeChange?
    /// A message's `send_after`: it is not sent before this moment.
    package var notBefore: Timestamp?
    /// Whether its sender said when it expires: else it does not expire while it is held, as ``end(heldUntil:)`` says.
    package var hasOwnLife = false
    /// What it carries in the place of ``push``, as the user's or the channel's document has it when it is sent.
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
    package struct TurnsTold: Equatable, Sendable {
        package let notice: Int64
        package let turns: TurnLedger

        package init(notice: Int64, turns: TurnLedger) {
            self.notice = notice
            self.turns = turns
        }
    }

    /// When a message is over that is held until a moment: twelve hours after that, where its sender did not say when it
    /// expires, since nobody said that it is worth nothing in the morning; but no later than its receipts are kept.
    package func end(heldUntil moment: Timestamp) -> Timestamp {
        guard !hasOwnLife else { return expires }
        return max(expires, min(moment + .hours(12), longestHeld))
    }

    /// When a message is over that a notification brings which is over at a moment itself.
    package func end(within moment: Timestamp) -> Timestamp {
        hasOwnLife ? expires : max(expires, min(moment, longestHeld))
    }

    /// No message is held for longer.
    private var longestHeld: Timestamp { (notBefore ?? accepted) + ReceiptLog.keeping }

    /// When a message is over, however long it is held.
    var lastEnd: Timestamp { end(heldUntil: longestHeld) }

    /// Whether whoever sent it may ask what became of it.
    package var isMessage: Bool { kind != nil || !messageIDs.isEmpty }

    /// Whether it shows nothing and is a newer state of something that may be shown, as what takes a request away: it
    /// goes out though its kind is switched off.
    package var isClear: Bool { push.type == "background" && series != nil }

    package init(
        id: String, user: UserID?, accepted: Timestamp, expires: Timestamp, push: PushContent,
        turns: TurnsTold? = nil
    ) {
        self.id = id
        self.user = user
        self.accepted = accepted
        self.expires = expires
        self.push = push
        self.turns = turns
    }
}

/// How long what makes a push fail may last. What one kind has cost says nothing of the other.
package enum Trouble: String, CaseIterable, Sendable {
    /// No answer, or one that asks for less than a minute, such as 429: it may be over in a second.
    case brief
    /// The service is out of order, or asks for a longer pause.
    case lasting

    /// - Parameter pause: after the first failure.
    package init(pause: Interval) { self = pause < .minutes(1) ? .brief : .lasting }

    /// No pause is longer, however many failures there were.
    package var longestPause: Interval { self == .brief ? .minutes(15) : .hours(6) }
}

/// Failures that follow on each other.
package struct Failures: Equatable, Sendable {
    package let trouble: Trouble
    package let count: Int

    /// - Parameter count: more than a thousand are not told apart.
    init(_ trouble: Trouble, count: Int) {
        self.trouble = trouble
        self.count = min(max(count, 1), 1000)
    }
}

/// A notification's way to one device, or to all that listen to a channel.
package struct Delivery: Equatable, Sendable {
    package enum Aim: Hashable, Sendable {
        case device(DeviceToken)
        case channel(ChannelID)
    }

    /// Its place among the notification's devices, from 0: receipts name it by this. Given by the spool.
    package internal(set) var number = 0
    /// Whether it is for another user of a device that the notification goes to already: an alternate to the delivery
    /// with the same number, which counts once that one's user has lost the device or does not want it.
    package private(set) var isAlternate = false
    package private(set) var aim: Aim
    /// Tells the device from others in receipts; `nil` where the token does: ``DeviceToken/publicID``.
    package var deviceID: String?
    package var environment: APNsEnvironment?
    /// Whose device it is, where the notification does not say.
    package var user: UserID?
    /// Takes the place of `aps`' `badge` in the payload.
    package var badge: Int?
    /// Tells the user's document as it was when the delivery was accepted from later ones; without a user, the
    /// token's document. While it is the same the delivery stands as it was decided; `nil` where it has to be
    /// decided again in any case.
    package var stamp: Int64?
    /// Whether the push service has taken a push to the device before. Such devices go first: a service
    /// lowers its limits after errors.
    package var isProven: Bool
    /// How often in a row it has failed in the same way; `nil` before the first failure.
    package internal(set) var failures: Failures?
    /// Whether the answer to an attempt was lost, so that the push may have arrived.
    package internal(set) var isInDoubt = false
    /// Which messages of a release the push brings; `nil` where that is what the notification says.
    package var brings: [String]?

    package init(
        token: DeviceToken, id: String? = nil, environment: APNsEnvironment?, user: UserID? = nil,
        badge: Int? = nil, isProven: Bool = false
    ) {
        aim = .device(token)
        deviceID = id
        self.environment = environment
        self.user = user
        self.badge = badge
        self.isProven = isProven
    }

    package init(channel: ChannelID, environment: APNsEnvironment?) {
        aim = .channel(channel)
        self.environment = environment
        isProven = false
    }

    /// Makes it an alternate to the delivery with a number, or one that stands for itself where that is `nil`.
    package mutating func setAlternate(to number: Int?) {
        isAlternate = number != nil
        self.number = number ?? self.number
    }

    /// An alternate in this delivery's place: what was tried for the device counts for it as well.
    package func replaced(by alternate: Delivery) -> Delivery {
        var delivery = alternate
        delivery.number = number
        delivery.isAlternate = false
        delivery.failures = failures
        delivery.isInDoubt = isInDoubt
        return delivery
    }

    /// The same after another failure.
    package func failures(after trouble: Trouble) -> Failures {
        guard let failures, failures.trouble == trouble else { return Failures(trouble, count: 1) }
        return Failures(trouble, count: failures.count + 1)
    }

    /// The same to the token that took the place of the one it was accepted for.
    package mutating func redirect(to token: DeviceToken) {
        deviceID = deviceID ?? self.token?.publicID
        aim = .device(token)
    }

    /// The device as receipts name it; `nil` where it is for a channel.
    package var device: String? { deviceID ?? token?.publicID }

    /// The device's; `nil` where it is for a channel.
    package var token: DeviceToken? {
        if case .device(let token) = aim { token } else { nil }
    }
}

/// How a delivery ended.
package enum Outcome: String, Sendable {
    /// The push service took it.
    case accepted
    /// The push service will never take it.
    case refused
    /// The device is no longer there.
    case gone
    /// The push service does not know the token.
    case quarantined
    /// Its time was over before the push service took it.
    case expired
    /// It was no longer true or wanted when it was to be sent: the reason says why.
    case superseded
    /// It was called off before it was sent.
    case cancelled
    /// The notification's file could not be read.
    case damaged
    /// It waits with whatever else is held for the device: other receipts tell what became of it.
    case held

    package static let all = [
        Outcome.accepted, .refused, .gone, .quarantined, .expired, .superseded, .cancelled,
        .damaged, .held,
    ]
}
