import Foundation
import JSON
import Spool
import TestSupport
import Testing
import Turnstone

@Suite struct ReceiptTests {
    let scratch = Scratch()
    let now = Scratch.now
    private let today = "receipts/2026-11-21.apns.0.jsonl"

    @Test("a receipt records each attempt, without whole tokens and without content")
    func lines() throws {
        try scratch.spools.accept(Scratch.full(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        let refused = Attempt(
            at: now, pushID: "p0", status: 400, reason: "odd \"word\"\n", outcome: .refused)
        intake.log.append(refused, of: devices[0], in: file)
        intake.log.append(
            Attempt(at: now, pushID: "p1", reason: "ECONNRESET", outcome: nil), of: devices[1],
            in: file)
        try intake.log.commit()
        intake.finish(file, at: now + .seconds(9))
        try intake.log.commit()
        intake.log.close()
        #expect(
            try scratch.lines(today) == [
                [
                    "id": "n1", "n": 0, "kind": "turn", "user": "42", "device": "a1b2c3d4",
                    "at": 1_795_262_400_000, "apns_id": "p0", "status": 400,
                    "reason": "odd \"word\"\n",
                    "outcome": "refused",
                ],
                [
                    "id": "n1", "n": 1, "kind": "turn", "user": "43", "device": "01020304",
                    "at": 1_795_262_400_000, "apns_id": "p1", "reason": "ECONNRESET",
                ],
                [
                    "id": "n1", "user": "42", "accepted_at": 1_795_262_400_000,
                    "finished_at": 1_795_262_409_000,
                ],
            ])
    }

    @Test("nothing is written before the commit, and no reserved space is left")
    func commit() throws {
        try scratch.spools.accept(Scratch.notification(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let device = try #require(try file.next())
        #expect(scratch.folder.read(today) == nil, "a run without pushes makes no file")
        try intake.log.makeRoom()
        intake.log.append(Scratch.accepted(), of: device, in: file)
        #expect(scratch.folder.read(today) == [])
        try intake.log.commit()
        #expect(intake.log.pendingBytes == 0)
        #expect(try scratch.lines(today).count == 1)
        intake.log.close()
        var status = stat()
        #expect(stat("\(scratch.folder.path)/\(today)", &status) == 0 && status.st_blocks <= 16)
    }

    @Test("pushes are recorded before they are sent, consecutive ones in one line")
    func sending() throws {
        try scratch.spools.accept(
            Scratch.notification(), to: repeatElement(Scratch.devices[0], count: 5))
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        for number in [0, 1, 2, 4] {
            intake.log.append(sending: devices[number], in: file, at: now)
        }
        #expect(intake.log.pendingBytes > 0)
        try intake.log.write()
        let first: JSONObject = ["id": "n1", "at": 1_795_262_400_000, "from": 0, "to": 2]
        let second: JSONObject = ["id": "n1", "at": 1_795_262_400_000, "from": 4, "to": 4]
        #expect(try scratch.lines(today) == [first, second])
        intake.log.append(Scratch.accepted(), of: devices[0], in: file)
        try intake.log.commit()
        #expect(try scratch.lines(today).count == 3)
        #expect(intake.log.pendingBytes == 0)
    }

    @Test("half a line that a crash left is overwritten")
    func torn() throws {
        try scratch.folder.write("{\"a\":1}\n{\"b\":", to: today)
        try scratch.spools.accept(Scratch.notification(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        intake.log.append(Scratch.accepted(), of: try #require(try file.next()), in: file)
        try intake.log.commit()
        #expect(try scratch.lines(today).map { $0.members.first?.name } == ["a", "id"])
    }

    @Test("each day has its own receipts, and a clock that is set back changes nothing")
    func days() throws {
        try scratch.spools.accept(Scratch.notification(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        for (number, moment) in [now, now + .days(1), now].enumerated() {
            try intake.log.switchDay(at: moment)
            intake.log.append(
                Scratch.accepted(nil, at: moment), of: devices[number % 2], in: file)
            try intake.log.commit()
        }
        #expect(try scratch.lines(today).count == 1)
        #expect(try scratch.lines("receipts/2026-11-22.apns.0.jsonl").count == 2)
        // The next drainer continues there too, while the receipts name open notifications.
        let next = try scratch.intake()
        let again = try #require(try next.next(in: .normal))
        next.log.append(Scratch.accepted(), of: devices[0], in: again)
        try next.log.commit()
        #expect(try scratch.lines("receipts/2026-11-22.apns.0.jsonl").count == 3)
    }

    @Test("receipts are removed 30 days after their day ended")
    func old() throws {
        for day in ["2026-10-21", "2026-10-22", "2026-11-21", "2025-12-31"] {
            try scratch.folder.write("{}\n", to: "receipts/\(day).apns.0.jsonl")
        }
        try scratch.folder.write("mine", to: "receipts/notes.txt")
        let intake = try scratch.intake()
        try intake.log.removeOld(at: now)
        #expect(
            scratch.files == [
                "receipts/2026-10-22.apns.0.jsonl", "receipts/2026-11-21.apns.0.jsonl",
                "receipts/notes.txt",
            ])
    }
}
