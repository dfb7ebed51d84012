import Foundation
import JSON
import Spool
import TestSupport
import Testing
import Turnstone

/// How a drainer treats the files that killed drainers and others have left.
@Suite struct CrashTests {
    let scratch = Scratch()
    let now = Scratch.now
    private var spool: Spool { scratch.spool }
    private var spools: Spools { scratch.spools }

    /// A drainer that was killed after it recorded an accepted push.
    private func halfDone() throws -> (Intake, SpoolFile) {
        try spools.accept(Scratch.full(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        intake.log.append(Scratch.accepted(), of: devices[0], in: file)
        intake.log.append(Scratch.accepted(nil), of: devices[1], in: file)
        try intake.log.commit()
        return (intake, file)
    }

    @Test("a drainer continues a killed one's work, without devices that have an outcome")
    func resumed() throws {
        _ = try halfDone()
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(file.notification == Scratch.full())
        #expect(try file.rest().map(\.number) == [1])
        #expect(file.isReached)
    }

    @Test(
        "a push that may have been sent before is a repeat, one that was not sent is not",
        arguments: [false, true])
    func unanswered(isNotSent: Bool) throws {
        try spools.accept(Scratch.full(), to: Scratch.devices)
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        for device in try file.rest() { intake.log.append(sending: device, in: file, at: now) }
        intake.log.append(Scratch.accepted(nil), of: Scratch.devices[0].numbered(0), in: file)
        if isNotSent { intake.log.append(notSent: Scratch.devices[1].numbered(1), in: file) }
        try intake.log.write()
        let next = try scratch.intake()
        let again = try #require(try next.next(in: .normal))
        for device in try again.rest() {
            next.log.append(Scratch.accepted(), of: device, in: again)
        }
        try next.log.commit()
        let repeats = try scratch.lines("receipts/2026-11-21.apns.0.jsonl").filter {
            $0["repeat"] == true
        }
        #expect(repeats.map { $0["n"] } == (isNotSent ? [] : [1]))
    }

    @Test("a checkpoint in between leaves out no receipts that are needed")
    func checkpoint() throws {
        let (intake, file) = try halfDone()
        intake.leave(file)
        try intake.writeCheckpoint()
        let next = try scratch.intake()
        try next.writeCheckpoint()
        #expect(try scratch.lines("spool/apns/checkpoint.json").isEmpty, "all receipts are needed")
        let again = try #require(try scratch.intake().next(in: .normal))
        #expect(try again.rest().map(\.number) == [1])
    }

    @Test("when everything is finished, the receipts need not be read again")
    func afterTheEnd() throws {
        let (intake, file) = try halfDone()
        intake.log.append(
            Scratch.accepted(.gone), of: Scratch.devices[1].numbered(1), in: file)
        try intake.log.commit()
        intake.finish(file, at: now)
        try intake.log.commit()
        try intake.writeCheckpoint()
        let size = try #require(scratch.folder.read("receipts/2026-11-21.apns.0.jsonl")).count
        let checkpoint = try scratch.lines("spool/apns/checkpoint.json").first
        #expect(checkpoint?["offset"] == .integer(Int64(size)))
        #expect(checkpoint?["day"] == "2026-11-21")
    }

    @Test("a notification with all its outcomes has nothing left to send")
    func settled() throws {
        let (intake, file) = try halfDone()
        intake.log.append(
            Scratch.accepted(.gone), of: Scratch.devices[1].numbered(1), in: file)
        try intake.log.commit()
        let again = try #require(try scratch.intake().next(in: .normal))
        #expect(try again.rest().isEmpty && again.isReached)
    }

    @Test(
        "of two files of a notification that was put off, only the later one counts",
        arguments: [false, true])
    func putOffTwice(isDue: Bool) throws {
        let (intake, file) = try halfDone()
        let before = try #require(scratch.folder.read("spool/apns/ready/normal/n1.jsonl"))
        intake.endPass(file, until: now + .seconds(5))
        try intake.log.commit()
        try intake.putOff(file, until: now + .seconds(5))
        try scratch.folder.write(before, to: "spool/apns/ready/normal/n1.jsonl")
        let next = try scratch.intake()
        #expect(try next.all(in: .normal).isEmpty)
        #expect(try next.allDue(at: now + .seconds(isDue ? 5 : 4)).count == (isDue ? 1 : 0))
        #expect(
            scratch.files.filter { $0.hasSuffix(".jsonl") } == [
                "receipts/2026-11-21.apns.0.jsonl",
                "spool/apns/waiting/1795262405000-1795262400000/n1.jsonl",
            ])
    }

    @Test("a pass that ended without a new file is repeated, without devices that have an outcome")
    func notPutOff() throws {
        let (intake, file) = try halfDone()
        intake.endPass(file, until: now + .seconds(5))
        try intake.log.commit()
        let again = try #require(try scratch.intake().next(in: .normal))
        #expect(try again.rest().map(\.number) == [1])
        #expect(again.pass == 1)
    }

    @Test("damaged receipts hold up nothing")
    func spoilt() throws {
        _ = try halfDone()
        let text = try #require(scratch.folder.read("receipts/2026-11-21.apns.0.jsonl"))
        try scratch.folder.write(
            Array("nonsense\n[]\n{\"id\":7}\n{\"id\":\"n1\",\"n\":-1}\n".utf8) + text,
            to: "receipts/2026-11-21.apns.0.jsonl")
        try scratch.folder.write("x", to: "spool/apns/checkpoint.json")
        let again = try #require(try scratch.intake().next(in: .normal))
        #expect(try again.rest().map(\.number) == [1])
    }

    @Test("a file that was never accepted is not a notification")
    func beforeTheRename() throws {
        try scratch.folder.write(#"{"version":1"#, to: "spool/apns/ready/normal/n1.jsonl.new")
        #expect(try spool.find("n1") == nil)
        #expect(try !spool.hasReady() && scratch.intake().all(in: .normal).isEmpty)
        #expect(scratch.files == ["spool/apns/ready/normal/n1.jsonl.new"])
    }

    @Test(
        "an unreadable file is set aside and holds up nothing",
        arguments: [
            "", "{", "[]\n", "{}\n", "{\"version\":2,\"id\":\"bad\"}\n",
            #"{"version":1,"id":"bad","user":"","accepted_at":1,"expires_at":2,"push":{}}"# + "\n",
        ], ["ready/normal", "ready/urgent", "ready/bulk", "waiting/1795262400000"])
    func unreadable(text: String, folder: String) throws {
        try scratch.folder.write(text, to: "spool/apns/\(folder)/bad.jsonl")
        try spools.accept(Scratch.notification("good"), to: Scratch.devices)
        let intake = try scratch.intake()
        let taken =
            try [Lane.urgent, .normal, .bulk].flatMap { try intake.all(in: $0) }
            + intake.allDue(at: now)
        #expect(taken.map(\.notification.id) == ["good"])
        // There may be files of later passes, which lack the devices of the earlier ones.
        let mayBeLater = folder.hasPrefix("waiting") || folder == "ready/bulk"
        let repairs = mayBeLater ? ["spool/apns/repairs/bad.json"] : []
        #expect(
            scratch.files == [
                "receipts/2026-11-21.apns.0.jsonl", "spool/apns/failed/bad.jsonl",
                "spool/apns/ready/normal/good.jsonl",
            ] + repairs)
        #expect(scratch.folder.read("spool/apns/failed/bad.jsonl") == Array(text.utf8))
    }

    @Test(
        "a notification with a member of another type is unreadable",
        arguments: [
            (0, "user", 1), (0, "accepted_at", "now"), (0, "expires_at", .null), (0, "push", []),
            (0, "turns", 7), (0, "version", 2), (0, "id", "another"),
        ] as [(Int, String, JSONValue)])
    func memberTypes(line: Int, name: String, value: JSONValue) throws {
        try change(line, name, value)
        #expect(try scratch.intake().all(in: .normal).isEmpty)
        #expect(
            scratch.files == ["receipts/2026-11-21.apns.0.jsonl", "spool/apns/failed/n1.jsonl"])
    }

    @Test("while a document is locked, damaged files are not tried again and again")
    func lockedOut() throws {
        for number in 1...3 {
            try scratch.folder.write("{", to: "spool/apns/ready/normal/bad\(number).jsonl")
        }
        var tried: [String] = []
        let intake = Intake(spool: spool, log: ReceiptLog(of: spool)) {
            (id, _, _, _) throws(Failure) in
            tried.append(id)
            throw Failure(.later(seconds: 2), "locked", cause: FailureCause.busy)
        }
        try intake.recover(at: now)
        for _ in 0..<2 { #expect(try intake.all(in: .normal).isEmpty) }
        #expect(tried.sorted() == ["bad1", "bad2", "bad3"])
        #expect(scratch.files.filter { $0.contains("/normal/bad") }.count == 3)
    }

    @Test(
        "a device with a member of another type is unreadable",
        arguments: [
            ("device", "xyz"), ("device", 7), ("n", "1"), ("n", -1), ("n", 4_294_967_296),
        ] as [(String, JSONValue)])
    func deviceTypes(name: String, value: JSONValue) throws {
        try change(2, name, value)
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(try file.next()?.number == 0)
        #expect(cause { _ = try file.next() } == "corrupt")
    }

    /// Changes a member in a line of an accepted notification.
    private func change(_ line: Int, _ name: String, _ value: JSONValue) throws {
        try spools.accept(Scratch.full(), to: Scratch.devices)
        var lines = try scratch.lines("spool/apns/ready/normal/n1.jsonl")
        lines[line][name] = value
        let text = lines.flatMap { JSON.text(.object($0)) + [UInt8(ascii: "\n")] }
        try scratch.folder.write(text, to: "spool/apns/ready/normal/n1.jsonl")
    }

    @Test("a file whose end is missing is damaged, not a shorter file")
    func cut() throws {
        try spools.accept(Scratch.full(), to: Scratch.devices)
        let text = try #require(scratch.folder.read("spool/apns/ready/normal/n1.jsonl"))
        try scratch.folder.write(Array(text.dropLast(3)), to: "spool/apns/ready/normal/n1.jsonl")
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(cause { _ = try file.rest() } == "corrupt")
    }

    @Test("files of others beside the notifications stay in their place")
    func strangers() throws {
        try scratch.folder.write("x", to: "spool/apns/ready/normal/readme.txt")
        #expect(try !spool.hasReady() && scratch.intake().all(in: .normal).isEmpty)
        #expect(scratch.files == ["spool/apns/ready/normal/readme.txt"])
    }

    @Test("a spool that does not exist yet is empty")
    func nothing() throws {
        #expect(try spool.find("n1") == nil)
        let intake = try scratch.intake()
        #expect(try intake.all(in: .bulk).isEmpty && intake.allDue(at: now).isEmpty)
        #expect(try !spool.hasWork(at: now) && spool.nextDue(at: now) == nil)
        try intake.writeCheckpoint()
        #expect(scratch.files.isEmpty)
    }

    @Test("only its owner can read a notification")
    func mode() throws {
        try spools.accept(Scratch.notification(), to: Scratch.devices)
        for (name, mode) in [
            ("spool", 0o700), ("spool/apns/ready/normal", 0o700),
            ("spool/apns/ready/normal/n1.jsonl", 0o600),
        ] {
            let facts = try FileManager.default.attributesOfItem(
                atPath: "\(scratch.folder.path)/\(name)")
            #expect(facts[.posixPermissions] as? Int == mode)
        }
    }
}
