import JSON
import TestSupport
import Testing
import Turnstone

@testable import Spool

@Suite struct CancellationTests {
    let scratch = Scratch()
    let now = Scratch.now

    private func accept(notBefore moment: Timestamp? = nil) throws {
        var notification = Scratch.notification()
        notification.kind = "message"
        try scratch.spools.accept(
            notification, to: Scratch.devices, notBefore: moment.map { .requested($0) })
    }

    private func outcomes() throws -> [Outcome?] {
        let start = ReceiptsStart([(QueueName(.apns), ReceiptLog.Position(day: "2026-11-21"))])
        return try scratch.spools.trace(
            "n1", from: start, devices: 2
        ).deliveries.map(\.outcome)
    }

    @Test("without a drainer, cancelling takes effect at once")
    func alone() throws {
        try accept(notBefore: now + .hours(1))
        #expect(try scratch.spool.cancel("n1", at: now) { _, _, _, _ in })
        #expect(try outcomes() == [.cancelled, .cancelled])
        #expect(scratch.files.filter { $0.hasPrefix("spool/") } == ["spool/apns/drainer.lock"])
    }

    @Test("a cancellation that was interrupted is work for a drainer, and leaves no file")
    func interrupted() throws {
        try accept(notBefore: now + .hours(1))
        #expect(try !scratch.spool.hasWork(at: now))
        try scratch.spool.markCancelled("n1")
        try scratch.spools.removeLeftCancellations()
        #expect(try scratch.spool.hasWork(at: now))
        #expect(try scratch.spool.cancel("n1", at: now) { _, _, _, _ in })
        // Killed before its file was removed.
        try scratch.spool.markCancelled("n1")
        #expect(try !scratch.spool.hasWork(at: now))
        try scratch.spools.removeLeftCancellations()
        #expect(!scratch.files.contains { $0.contains("cancelled") })
    }

    @Test("a notification in the backlog is found and can be cancelled")
    func inBacklog() throws {
        try accept()
        let intake = try scratch.intake()
        #expect(intake.moveToBacklog(try #require(try intake.next(in: .normal))))
        #expect(try scratch.spool.contains("n1") && scratch.spool.hasReady())
        #expect(try scratch.spool.oldestDue(at: now) == Scratch.notification().accepted)
        #expect(try scratch.spool.cancel("n1", at: now) { _, _, _, _ in })
        #expect(try outcomes() == [.cancelled, .cancelled])
        #expect(!scratch.files.contains { $0.hasSuffix(".jsonl") && $0.hasPrefix("spool/") })
    }

    @Test("a notification that was due is moved to the backlog unchanged")
    func dueInBacklog() throws {
        try accept(notBefore: now + .hours(1))
        let intake = try scratch.intake()
        let due = try #require(try intake.nextDue(at: now + .hours(1)))
        #expect(intake.moveToBacklog(due))
        #expect(scratch.files == ["spool/apns/ready/backlog/n1.jsonl"])
        #expect(try intake.nextDue(at: now + .hours(1)) == nil)
        let file = try #require(try intake.next(in: .backlog))
        #expect(try file.rest().count == 2)
    }

    @Test("cancelling changes no outcome, and no push that may have arrived")
    func underway() throws {
        try accept()
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        intake.log.append(sending: devices[0], in: file, at: now)
        intake.log.append(sending: devices[1], in: file, at: now)
        intake.log.append(Scratch.accepted(), of: devices[0], in: file)
        try intake.log.commit()
        // That drainer is killed here: nobody knows whether the second push arrived.
        try scratch.spool.markCancelled("n1")
        #expect(try scratch.spool.cancel("n1", at: now) { _, _, _, _ in })
        #expect(try outcomes() == [.accepted, nil])

        let next = try scratch.intake()
        let left = try #require(try next.takeCancelled().first)
        let delivery = try #require(try left.next())
        #expect(delivery.number == 1 && !next.isCancelled(delivery, in: left))
    }

    @Test("a drainer takes a cancelled notification once, before it is due")
    func marks() throws {
        try accept(notBefore: now + .hours(1))
        try scratch.folder.write("", to: "spool/apns/cancelled/n1")
        try scratch.folder.write("", to: "spool/apns/cancelled/long-gone")
        let intake = try scratch.intake()
        let file = try #require(try intake.takeCancelled().first)
        for delivery in try file.rest() {
            #expect(intake.isCancelled(delivery, in: file))
            let cancelled = Attempt(at: now, pushID: nil, outcome: .cancelled)
            intake.log.append(cancelled, of: delivery, in: file)
        }
        try intake.log.commit()
        #expect(try intake.takeCancelled().isEmpty)
        intake.finish(file, at: now)
        try intake.log.commit()
        #expect(scratch.files == ["receipts/2026-11-21.apns.0.jsonl"])
    }

    @Test("a delivery is in doubt after an attempt without an answer, in this pass and in the next")
    func doubt() throws {
        try accept()
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        for (device, status) in zip(devices, [nil, 429]) {
            intake.log.append(
                Attempt(at: now, pushID: "p", status: status, outcome: nil), of: device, in: file)
        }
        #expect(devices.map { file.isInDoubt($0) } == [true, false])
        try intake.log.commit()
        try intake.putOff(file, until: now + .seconds(1))
        let again = try #require(try intake.nextDue(at: now + .seconds(2)))
        #expect(try again.rest().map(\.isInDoubt) == [true, false])
    }

    @Test("a prepared notification is accepted when the request is repeated")
    func complete() throws {
        var devices = ListedDeliveries(rest: Scratch.devices.makeIterator())
        var prepared = try scratch.spools.prepare(Scratch.notification(), to: &devices)
        try prepared.makeFindable()
        #expect(prepared.devices == 2)
        #expect(prepared.folder == "apns/ready/normal")
        let path = "spool/\(prepared.folder)/n1.jsonl"
        #expect(scratch.files == [path + ".new"])
        #expect(scratch.folder.read(path + ".new")?.split(separator: 10).count == 3)
        #expect(try scratch.spool.find("n1") == nil)
        try scratch.spools.complete("n1", in: prepared.folder)
        #expect(try scratch.spool.find("n1") != nil)
        try scratch.spools.complete("n1", in: prepared.folder)
        #expect(scratch.files == [path])
    }

    @Test("nothing is left of a notification whose devices cannot be looked up")
    func failedSource() throws {
        struct Failing: DeliverySource {
            var left = 150

            mutating func next() throws(Failure) -> Delivery? {
                left -= 1
                guard left > 0 else { throw .malformed("failed") }
                return Scratch.devices[0]
            }
        }
        var devices = Failing()
        #expect(throws: Failure.self) {
            try scratch.spools.prepare(Scratch.notification(), to: &devices)
        }
        #expect(scratch.files.isEmpty)
    }
}
