import Glibc
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// A user is taken out of the spool, and what is for others stays.
@Suite struct SpoolErasureTests {
    @Test("a device of two users stays the other one's in a file that was never accepted")
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
        try scratch.spool.accept(notification, to: deliveries)
        // As a program has left it that was killed an hour ago, before it accepted it.
        let path = "\(scratch.folder.path)/spool/ready/normal/\(plain.id).jsonl"
        #expect(rename(path, "\(path).new") == 0)
        var times = [timeval(), timeval()]
        #expect(utimes("\(path).new", &times) == 0)
        let election = try #require(try scratch.spool.election())
        defer { election.end() }
        _ = try scratch.spool.erase(
            users[0], opponents: [], elected: election, at: Scratch.now
        ) { Issue.record("\($0)") }
        // Its sender repeats the request.
        try scratch.spool.complete(plain.id, in: "ready/normal")
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(try file.rest().map(\.user) == [users[1]])
    }
}
