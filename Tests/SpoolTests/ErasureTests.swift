import Glibc
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Erasing a user from the spool leaves the notifications to others.
@Suite struct SpoolErasureTests {
    @Test("a device of two users stays for the other one in a file that was never accepted")
    func leftover() throws {
        let scratch = Scratch()
        let users = try ["ann", "bob"].map { try #require(UserID($0)) }
        var deliveries = users.map {
            Delivery(token: Scratch.tokens[0], environment: nil, user: $0)
        }
        deliveries[1].setAlternate(to: 0)
        let plain = Scratch.notification()
        let notification = Notification(
            id: plain.id, user: nil, accepted: plain.accepted, expires: plain.expires,
            push: plain.push)
        try scratch.spools.accept(notification, to: deliveries)
        // As left by a program that was killed long ago, before it accepted the notification.
        let path = "\(scratch.folder.path)/spool/apns/ready/normal/\(plain.id).jsonl"
        #expect(rename(path, "\(path).new") == 0)
        var times = [timeval(), timeval()]
        #expect(utimes("\(path).new", &times) == 0)
        let election = try #require(try scratch.spool.election())
        defer { election.end() }
        _ = try scratch.spool.erase(
            users[0], tokens: [], opponents: [], elected: election, at: Scratch.now,
            takeBack: { _, _, _, _ in }
        ) { Issue.record("\($0)") }
        // Its sender repeats the request.
        try scratch.spools.complete(plain.id, in: "ready/normal")
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(try file.rest().map(\.user) == [users[1]])
    }

    @Test("an unreadable file is counted and reported once")
    func unreadableOnce() throws {
        let scratch = Scratch()
        try scratch.spools.accept(Scratch.notification(), to: Scratch.devices)
        let path = "\(scratch.folder.path)/spool/apns/ready/normal/loop.jsonl"
        #expect(symlink(path, path) == 0)
        let election = try #require(try scratch.spool.election())
        defer { election.end() }
        var reports = 0
        let erased = try scratch.spool.erase(
            UserID("42")!, tokens: [], opponents: [], elected: election, at: Scratch.now,
            takeBack: { _, _, _, _ in }
        ) { (_) in reports += 1 }
        #expect(erased.pushes > 0)
        #expect(erased.unreadable == 1 && reports == 1)
    }

    @Test("a notification begun before a user was erased is not accepted afterwards")
    func begunBefore() throws {
        let scratch = Scratch()
        let user = UserID("42")!
        let before = try scratch.spools.erasures()
        let election = try #require(try scratch.spool.election())
        defer { election.end() }
        try scratch.spools.countErasure()
        _ = try scratch.spool.erase(
            user, tokens: [], opponents: [], elected: election, at: Scratch.now,
            takeBack: { _, _, _, _ in }
        ) {
            Issue.record("\($0)")
        }
        #expect(throws: Failure.self) {
            try scratch.spools.accept(
                Scratch.notification(), to: Scratch.devices, since: before)
        }
        #expect(scratch.files.allSatisfy { !$0.contains("n1") })
        try scratch.spools.accept(
            Scratch.notification(), to: Scratch.devices, since: scratch.spools.erasures())
        #expect(scratch.files.contains("spool/apns/ready/normal/n1.jsonl"))
    }

    @Test(
        "marks that were left behind are removed, those of open notifications are not",
        arguments: [30, 60, 300])
    func sweptMarks(distance: Int64) throws {
        let scratch = Scratch()
        for (id, key) in [("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "d"), ("n5", "e")] {
            var notification = Scratch.notification(id)
            notification.series = Series(
                [key], of: nil, order: Series.Order(from: Scratch.now, accepted: 1))
            try scratch.spools.accept(notification, to: Scratch.devices)
        }
        func marks() -> [String] { scratch.files.filter { $0.hasPrefix("spool/apns/series/") } }
        #expect(marks().count == 5)
        for number in 2...5 {
            try scratch.folder.remove("spool/apns/ready/normal/n\(number).jsonl")
        }
        for turn in 0..<257 {
            try scratch.spool.sweep(at: Scratch.now + .seconds(distance * Int64(turn)))
        }
        #expect(marks().count == 1 && marks()[0].contains("/n1."))
    }
}
