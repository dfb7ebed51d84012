import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Several queues for each push service, and what becomes of waiting notifications when their number changes.
@Suite struct MoveTests {
    private let folder = TemporaryFolder()
    private let now = Scratch.now

    private func spools(_ shards: Int) -> Spools { Spools(state: folder.path, shards: shards) }

    private func user(_ number: Int) -> UserID { UserID("user\(number)")! }

    private func delivery(_ number: Int, of service: PushService = .apns) -> Delivery {
        let text = service == .fcm ? "fcm:\(number)" : "ab\(100_000 + number)"
        return Delivery(
            token: DeviceToken(text, of: service)!, of: service, environment: nil,
            user: user(number))
    }

    private func message(_ id: String, for user: UserID?) -> Notification {
        var message = Notification(
            id: id, user: user, accepted: now, expires: now + .hours(9),
            push: Scratch.notification().push)
        message.kind = "message"
        return message
    }

    /// By queue and id, the numbers of the remaining devices.
    private func waiting(_ spools: Spools) throws -> [String: [Int]] {
        var found: [String: [Int]] = [:]
        for spool in try spools.all() {
            for folder in try spool.folders() {
                for name in try spool.names(in: folder) where idOfFile(name) != nil {
                    let file = try #require(try SpoolFile.open("\(folder)/\(name)"))
                    found["\(spool.queue.text) \(file.notification.id)"] =
                        try file.rest().map(\.number)
                }
            }
        }
        return found
    }

    private func move(to spools: Spools) throws {
        for service in PushService.all {
            let found = try spools.moveFormer(
                of: service, at: now, takeBack: { _, _, _, _ in }
            ) {
                Issue.record("\($0.sentence)")
            }
            #expect(found != .left)
        }
    }

    @Test("a queue's name is read as it is written", arguments: [1, 2, 64])
    func names(count: Int) {
        for service in PushService.all {
            let name = QueueName(service, count, of: count)
            #expect(QueueName(name.text) == name)
        }
        for text in [
            "", "sms", "apns-", "apns-1of1", "apns-0of2", "apns-3of2", "apns-01of2", "apns-1of2-",
        ] {
            #expect(QueueName(text) == nil, "\(text)")
        }
    }

    @Test(
        "all of a user's devices of a service have one queue, and alternates that of their device")
    func split() throws {
        let spools = spools(4)
        var devices = (0..<40).map { delivery($0) } + (0..<40).map { delivery($0, of: .fcm) }
        var alternate = delivery(0)
        alternate.user = user(77)
        alternate.setAlternate(to: 0)
        devices.append(alternate)
        try spools.accept(message("n1", for: nil), to: devices)
        var numbers: [Int] = []
        for (queue, found) in try waiting(spools) {
            let name = try #require(QueueName(String(queue.prefix { $0 != " " })))
            for number in found {
                let user = user(number % 40)
                #expect(name.number == QueueName.number(of: user, among: 4))
            }
            numbers += found
        }
        #expect(numbers.sorted() == Array(0..<80))
        let first = spools.spool(of: .apns, QueueName.number(of: user(0), among: 4))
        let path = try #require(try first.path(of: "n1"))
        let file = try #require(try SpoolFile.open(path))
        #expect(try file.alternates(to: delivery(0).numbered(0)).map(\.user) == [user(77)])
        for number in 0..<40 {
            try spools.accept(message("m\(number)", for: user(number)), to: [delivery(number)])
        }
        for number in 0..<40 {
            let queue = QueueName(.apns, QueueName.number(of: user(number), among: 4), of: 4)
            #expect(try spools.spools(with: "m\(number)").map(\.queue) == [queue])
        }
    }

    @Test(
        "another number of queues takes over what waits, with what is known of each device",
        arguments: [(1, 3), (3, 1), (2, 3), (4, 2)])
    func moved(from: Int, to: Int) throws {
        let old = spools(from)
        // Ready, waiting by its sender's request, held, and cancelled.
        for number in 0..<8 {
            try old.accept(
                message("ready\(number)", for: user(number)), to: [delivery(number)])
            try old.accept(
                message("later\(number)", for: user(number)), to: [delivery(number)],
                notBefore: .requested(now + .hours(1)))
            let spool = old.spool(of: .apns, QueueName.number(of: user(number), among: from))
            try spool.hold(
                message("held\(number)", for: user(number)), delivery(number).numbered(0),
                in: HeldBox(of: user(number), "phone"), until: now + .hours(2), now: now)
        }
        for spool in try old.spools(with: "ready3") { try spool.markCancelled("ready3") }
        // One for many, of which each drainer has reached some and may have reached others.
        try old.accept(message("many", for: nil), to: (0..<600).map { delivery($0) })
        var settled: Set<Int> = []
        var unanswered: Set<Int> = []
        for spool in old.spools(of: .apns) {
            let intake = Intake(spool: spool, log: ReceiptLog(of: spool))
            try intake.recover(at: now)
            let file = try #require(try intake.next(in: .bulk))
            for device in try file.rest() {
                intake.log.append(sending: device, in: file, at: now)
                guard device.number % 3 == 0 else {
                    if device.number % 3 == 1 {
                        intake.log.append(notSent: device, in: file)
                    } else {
                        unanswered.insert(device.number)
                    }
                    continue
                }
                intake.log.append(Scratch.accepted(), of: device, in: file)
                settled.insert(device.number)
            }
            try intake.log.commit()
        }
        #expect(!settled.isEmpty && !unanswered.isEmpty)

        let new = spools(to)
        try move(to: new)
        let found = try waiting(new)
        #expect(found.keys.allSatisfy { $0.hasPrefix(to == 1 ? "apns " : "apns-") })
        for number in 0..<8 {
            let queue = QueueName(.apns, QueueName.number(of: user(number), among: to), of: to)
            #expect(found["\(queue.text) ready\(number)"] == [0])
            #expect(found["\(queue.text) later\(number)"] == [0])
            let box = HeldBox(of: user(number), "phone")
            #expect(try new.spool(queue).isHeld("held\(number)", in: box))
            let isCancelled = try new.spool(queue).cancelledIDs().contains("ready\(number)")
            #expect(isCancelled == (number == 3))
        }
        var rest: [Int] = []
        for spool in new.spools(of: .apns) {
            guard let path = try spool.path(of: "many") else { continue }
            let file = try #require(try SpoolFile.open(path))
            #expect(file.pass == 2 && file.isReached)
            for device in try file.rest() {
                rest.append(device.number)
                #expect(device.isInDoubt == unanswered.contains(device.number))
                #expect(
                    spool.queue.number
                        == QueueName.number(of: user(device.number), among: to))
            }
        }
        #expect(Set(rest) == Set(0..<600).subtracting(settled) && rest.count == Set(rest).count)
        // Nothing is left in the former queues, and a second look finds nothing to do.
        for service in PushService.all { #expect(try !new.hasFormerWork(of: service)) }
        #expect(!folder.files().keys.contains { $0.hasSuffix(".new") || $0.contains("joint/") })
    }

    @Test("an older notification finds out in its new queue what a newer one has reached")
    func series() throws {
        let old = spools(2)
        func state(_ id: String, _ order: Int64) -> Notification {
            var message = message(id, for: user(1))
            message.series = Series(
                ["score"], of: user(1), order: .init(from: now, accepted: order))
            return message
        }
        try old.accept(
            state("older", 1), to: [delivery(1)], notBefore: .putOff(until: now + .minutes(1)))
        try old.accept(state("newer", 2), to: [delivery(1)])
        let spool = old.spool(of: .apns, QueueName.number(of: user(1), among: 2))
        let intake = Intake(spool: spool, log: ReceiptLog(of: spool))
        try intake.recover(at: now)
        let file = try #require(try intake.next(in: .normal))
        for device in try file.rest() {
            intake.log.append(Scratch.accepted(), of: device, in: file)
        }
        try intake.log.commit()
        intake.finish(file, at: now)
        try intake.log.commit()

        try move(to: spools(3))
        let target = spools(3).spool(of: .apns, QueueName.number(of: user(1), among: 3))
        let next = Intake(spool: target, log: ReceiptLog(of: target))
        try next.recover(at: now)
        let series = try #require(state("older", 1).series)
        let newer = try #require(try target.marks(of: series).first { $0.id == "newer" })
        #expect(try next.devicesReached(by: newer) == [delivery(1).token!.publicID])
        // And once more, back to where it was.
        try move(to: spools(2))
        let again = Intake(spool: spool, log: ReceiptLog(of: spool))
        try again.recover(at: now)
        let back = try #require(try spool.marks(of: series).first { $0.id == "newer" })
        // It may be found in the receipts of the first time, and in those of now.
        #expect(Set(try again.devicesReached(by: back)) == [delivery(1).token!.publicID])
    }

    @Test("a move that was killed after it was accepted is completed, and removes what was moved")
    func interrupted() throws {
        try spools(2).accept(message("n1", for: nil), to: (0..<20).map { delivery($0) })
        let sources = spools(2).spools(of: .apns)
        let new = spools(3)
        // All that a killed program has done: the parts have their temporary names.
        var places: [String] = []
        for (number, spool) in new.spools(of: .apns).enumerated() {
            let path = "\(spool.folder)/ready/normal/n1.jsonl"
            let file = try spool.openTemporary(for: path)
            var lines = LineWriter(file)
            try lines.begin(message("n1", for: nil).members)
            try lines.append(delivery(number).numbered(number).members)
            try lines.finish()
            places.append("\(spool.queue.text)/ready/normal")
        }
        let joint: JSONObject = [
            "version": 1, "places": JSONValue(texts: places),
            "from": JSONValue(texts: sources.map(\.queue.text)),
        ]
        try folder.write(JSON.text(.object(joint)), to: "spool/joint/n1.apns.json")
        #expect(try new.spools(with: "n1").map(\.queue.count) == [3, 3, 3])
        for source in sources { #expect(try !source.contains("n1")) }
        #expect(!folder.files().keys.contains { $0.contains("joint/") })
    }
}
