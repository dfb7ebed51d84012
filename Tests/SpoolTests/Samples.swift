import JSON
import TestSupport
import Turnstone

@testable import Spool

/// A spool for one test.
struct Scratch {
    let folder = TemporaryFolder()
    let spools: Spools
    let spool: Spool

    static let now = Timestamp(milliseconds: 1_795_262_400_000)
    static let tokens = [DeviceToken("a1b2c3d4e5f6")!, DeviceToken("0102030405060708")!]

    init() {
        spools = Spools(state: folder.path, shards: 1)
        spool = spools.spool(of: .apns)
    }

    /// The spool's and the receipts' files.
    var files: [String] { folder.files().keys.sorted() }

    /// The intake of a drainer that begins now.
    func intake(at moment: Timestamp = now) throws -> Intake {
        let intake = Intake(spool: spool, log: ReceiptLog(of: spool))
        try intake.recover(at: moment)
        return intake
    }

    /// The lines of a file.
    func lines(_ name: String) throws -> [JSONObject] {
        let bytes = folder.read(name) ?? []
        return try bytes.split(separator: UInt8(ascii: "\n")).compactMap {
            try JSON.parse(Array($0)).object
        }
    }

    static func notification(
        _ id: String = "n1", for user: String = "42", aps: JSONObject = [:]
    ) -> Notification {
        var members: JSONObject = ["alert": "It's your turn"]
        for member in aps.members { members[member.name] = member.value }
        return Notification(
            id: id, user: UserID(user)!, accepted: now, expires: now + .hours(1),
            push: PushContent(
                type: .alert, priority: 10, collapseID: "turns-42",
                payload: Payload(aps: members, data: ["game_id": 1])))
    }

    /// A turn notice, with all its members.
    static func full(_ id: String = "n1") -> Notification {
        let plain = notification(id)
        return Notification(
            id: id, user: plain.user, accepted: plain.accepted, expires: plain.expires,
            push: plain.push,
            turns: .init(notice: 3, turns: TurnLedger().marking([Game(id: 7)], notice: 3)))
    }

    /// Its two devices. The second one has nearly all members of a device.
    static let devices = [
        Delivery(token: tokens[0], environment: nil),
        Delivery(
            token: tokens[1], environment: .production, user: UserID("43")!, badge: 5,
            isProven: true),
    ]

    static func accepted(_ outcome: Outcome? = .accepted, at moment: Timestamp = now) -> Attempt {
        Attempt(at: moment, pushID: "p", status: outcome == nil ? 503 : 200, outcome: outcome)
    }
}

extension Delivery {
    func numbered(_ number: Int) -> Delivery {
        var delivery = self
        delivery.number = number
        return delivery
    }
}

extension SpoolFile {
    /// All remaining devices.
    func rest() throws -> [Delivery] {
        var rest: [Delivery] = []
        while let delivery = try next() { rest.append(delivery) }
        return rest
    }
}

extension Intake {
    /// Everything in a lane that is not in hand.
    func all(in lane: Lane) throws -> [SpoolFile] {
        var all: [SpoolFile] = []
        while let file = try next(in: lane) { all.append(file) }
        return all
    }

    func allDue(at moment: Timestamp) throws -> [SpoolFile] {
        var all: [SpoolFile] = []
        while let file = try nextDue(at: moment) { all.append(file) }
        return all
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
