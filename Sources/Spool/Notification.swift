import Turnstone

/// What a push service is asked to show, the same for every device.
package struct PushContent: Equatable, Sendable {
    /// APNs' push type, such as `alert`.
    package var type: String
    /// 10, 5 or 1.
    package var priority: Int
    /// At most 64 bytes; a later push with the same one takes its place on screen.
    package var collapseID: String?
    /// What the app receives: an object with `aps` in it.
    package var payload: JSONValue

    package init(type: String, priority: Int, collapseID: String?, payload: JSONValue) {
        self.type = type
        self.priority = priority
        self.collapseID = collapseID
        self.payload = payload
    }
}

/// A notification that was accepted: it leaves the spool when every device in it has an outcome.
package struct Notification: Equatable, Sendable {
    /// A lower-case UUID. With a device's token it makes the push's own id, the same at every attempt.
    package let id: String
    package let user: UserID
    package let accepted: Timestamp
    /// After this nobody wants it any more.
    package var expires: Timestamp
    /// No attempt before this moment.
    package var notBefore: Timestamp?
    package var push: PushContent
    package var deliveries: [Delivery]
    /// The player's turns that it tells of.
    package var turns: TurnsTold?

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

    package init(
        id: String, user: UserID, accepted: Timestamp, expires: Timestamp, push: PushContent,
        deliveries: [Delivery], turns: TurnsTold? = nil
    ) {
        self.id = id
        self.user = user
        self.accepted = accepted
        self.expires = expires
        self.push = push
        self.deliveries = deliveries
        self.turns = turns
    }

    /// Whether every device has its outcome.
    package var isSettled: Bool { deliveries.allSatisfy { $0.outcome != nil } }
}

/// A notification's way to one device.
package struct Delivery: Equatable, Sendable {
    package let token: DeviceToken
    package var environment: APNsEnvironment?
    package var attempts: [Attempt] = []
    /// How it ended; `nil` while it has not.
    package var outcome: Outcome?

    package init(token: DeviceToken, environment: APNsEnvironment?) {
        self.token = token
        self.environment = environment
    }

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
    }

    /// One time that the push service was asked.
    package struct Attempt: Equatable, Sendable {
        package let at: Timestamp
        /// The HTTP status; `nil` where no answer came.
        package let status: Int?
        package let reason: String?
        package let pushID: String

        package init(at: Timestamp, status: Int?, reason: String?, pushID: String) {
            self.at = at
            self.status = status
            self.reason = reason
            self.pushID = pushID
        }
    }
}
