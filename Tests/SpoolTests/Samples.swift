import JSON
import Spool
import TestSupport
import Turnstone

/// A spool of one test's own.
struct Scratch {
    let folder = TemporaryFolder()
    let spool: Spool

    static let now = Timestamp(milliseconds: 1_795_262_400_000)
    static let tokens = [DeviceToken("a1b2c3d4e5f6")!, DeviceToken("0102030405060708")!]

    init() { spool = Spool(state: folder.path) }

    /// The spool's and the receipts' files.
    var files: [String] { folder.files().keys.sorted() }

    /// A notification to two devices.
    static func notification(_ id: String = "n1") -> Notification {
        Notification(
            id: id, user: UserID("42")!, accepted: now, expires: now + .hours(1),
            push: PushContent(
                type: "alert", priority: 10, collapseID: "turns-42",
                payload: ["aps": ["alert": "It's your turn"], "game_id": 1]),
            deliveries: [
                Delivery(token: tokens[0], environment: nil),
                Delivery(token: tokens[1], environment: .production),
            ])
    }

    /// A notification with everything in it that can be in one.
    static func full(_ id: String = "n1") -> Notification {
        var notification = notification(id)
        notification.notBefore = now + .minutes(1)
        notification.deliveries[0].attempts = [
            Delivery.Attempt(at: now, status: nil, reason: nil, pushID: "p0"),
            Delivery.Attempt(
                at: now + .seconds(1), status: 410, reason: "Unregistered", pushID: "p0"),
        ]
        notification.deliveries[0].outcome = .gone
        notification.deliveries[1].outcome = .accepted
        let game = Game(id: 7)
        return Notification(
            id: id, user: notification.user, accepted: notification.accepted,
            expires: notification.expires, push: notification.push,
            deliveries: notification.deliveries,
            turns: .init(notice: 3, turns: TurnLedger().marking([game], notice: 3)))
    }
}

func cause(_ work: () throws -> Void) -> String? {
    do {
        try work()
        return nil
    } catch {
        return (error as? Failure)?.cause ?? "\(error)"
    }
}
