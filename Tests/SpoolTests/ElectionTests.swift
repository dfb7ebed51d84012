import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Terms, which keep a drainer that stood still from undoing what its successor has done.
@Suite struct ElectionTests {
    private let scratch = Scratch()
    private var spool: Spool { scratch.spool }
    private let now = Scratch.now

    /// Takes the election away from its holder, as a file system does that gives the lock of a frozen host to
    /// another.
    private func takeLock() throws {
        try scratch.folder.write(
            scratch.folder.read("spool/apns/drainer.lock") ?? [], to: "spool/apns/moved")
        try Files.rename("\(spool.folder)/moved", spool.lockPath)
    }

    @Test("a drainer asks for its term again after a second, even if its clock stands still")
    func frozenClock() throws {
        let frozen = try #require(try spool.election())
        try frozen.beat(at: now)
        try takeLock()
        _ = try spool.election()
        // Within a second, nothing is read.
        Thread.sleep(forTimeInterval: 1.1)
        #expect(throws: Failure.self) { try frozen.beat(at: now) }
        #expect(!frozen.isCurrent)
    }

    @Test("after an orderly end the term goes on")
    func orderly() throws {
        for _ in 0..<3 {
            let election = try #require(try spool.election())
            #expect(election.term == 1)
            try election.beat(at: now)
            election.end()
        }
    }

    @Test("the term is raised after a drainer that has not said that it ended")
    func raised() throws {
        for term in 1...3 {
            let election = try #require(try spool.election())
            #expect(election.term == Int64(term))
            if term % 2 == 0 { try election.beat(at: now) }
        }
        #expect(try #require(try spool.sign()).term == 3)
    }

    @Test(
        "without the lock file, or with one that says nothing, terms go on after those of the receipts",
        arguments: [nil, "", "{\"beat\":1795262400000,\"pid\":7}\n", "{\"term\":2,"])
    func lost(text: String?) throws {
        try scratch.folder.write("{}\n", to: "receipts/2026-11-20.apns.7.jsonl")
        try scratch.folder.write("{}\n", to: "receipts/2026-11-21.fcm.9.jsonl")
        if let text { try scratch.folder.write(text, to: "spool/apns/drainer.lock") }
        #expect(try spool.election()?.term == 8)
    }

    @Test("the space that a killed drainer has reserved for its receipts is freed")
    func reserved() throws {
        func blocks() throws -> Int64 {
            var status = stat()
            let path = "\(scratch.folder.path)/receipts/2026-11-21.apns.1.jsonl"
            try #require(stat(path, &status) == 0)
            return Int64(status.st_blocks)
        }
        func begin() throws -> ReceiptLog {
            let election: Election = try #require(try spool.election())
            let log = ReceiptLog(of: spool, election)
            try Intake(spool: spool, log: log).recover(at: now)
            return log
        }
        let killed = try begin()
        try killed.makeRoom()
        let before = try blocks()
        try #require(before > 1000, "the file system cannot reserve space")
        try takeLock()
        _ = try begin()
        #expect(try blocks() < before / 2)
    }

    @Test("a lock file from a backup does not bring an earlier term back")
    func restored() throws {
        try scratch.folder.write(
            #"{"term":2,"ended":true}"#, to: "spool/apns/drainer.lock")
        try scratch.folder.write(
            #"{"version":1,"day":"2026-11-21","term":5,"offset":7}"#,
            to: "spool/apns/checkpoint.json")
        #expect(try spool.election()?.term == 6)
    }

    @Test("a drainer that stood still while another was elected writes nothing more")
    func frozen() throws {
        try scratch.spools.accept(Scratch.notification(), to: Scratch.devices)
        let frozen = try #require(try spool.election())
        let intake = Intake(spool: spool, log: ReceiptLog(of: spool, frozen))
        try intake.recover(at: now)
        let file = try #require(try intake.next(in: .normal))
        let device = try #require(try file.next())
        intake.log.append(sending: device, in: file, at: now)
        try intake.log.write()
        try takeLock()
        let other = try #require(try spool.election())
        #expect(other.term == frozen.term + 1)
        try other.beat(at: now)
        let before = scratch.folder.files()
        intake.log.append(Scratch.accepted(), of: device, in: file)
        #expect(throws: Failure.self) { try intake.log.write() }
        #expect(throws: Failure.self) { try intake.log.commit() }
        #expect(throws: Failure.self) { try frozen.beat(at: now + .seconds(2)) }
        #expect(!frozen.isCurrent)
        frozen.end()
        #expect(scratch.folder.files() == before)
        #expect(try #require(try spool.sign()).term == other.term)
        // The successor knows that the push may have been sent.
        let next = Intake(spool: spool, log: ReceiptLog(of: spool, other))
        try next.recover(at: now)
        let again = try #require(try next.next(in: .normal))
        #expect(try again.rest().map { again.isInDoubt($0) } == [true, false])
    }
}
