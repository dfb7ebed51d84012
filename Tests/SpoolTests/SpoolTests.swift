import Spool
import TestSupport
import Testing
import Turnstone

@Suite struct SpoolTests {
    let scratch = Scratch()
    let now = Scratch.now
    private var spool: Spool { scratch.spool }

    private func accept(_ ids: String...) throws {
        for id in ids { try spool.accept(Scratch.notification(id)) }
    }

    @Test(
        "what was accepted can be found, unchanged, at every stage",
        arguments: [Scratch.notification(), Scratch.full()])
    func found(notification: Notification) throws {
        #expect(try spool.find("n1") == nil)
        try spool.accept(notification)
        #expect(try spool.find("n1") == notification)
        #expect(try spool.claim(limit: 1) == [notification])
        #expect(try spool.find("n1") == notification)
        try spool.postpone(notification, until: now + .seconds(5))
        #expect(try spool.find("n1")?.notBefore == now + .seconds(5))
        try spool.settle(notification, at: now)
    }

    @Test("accepting an id again replaces it, whatever a killed program has left of it")
    func again() throws {
        try scratch.folder.write("half of", to: "spool/ready/n1.json.new")
        try accept("n1", "n1")
        #expect(scratch.files == ["spool/ready/n1.json"])
    }

    @Test("a file is in one folder at a time")
    func stages() throws {
        try accept("n1")
        #expect(try spool.hasReady())
        let claimed = try spool.claim(limit: 10)
        #expect(scratch.files == ["spool/active/n1.json"])
        #expect(try !spool.hasReady() && spool.hasWork(at: now))
        try spool.postpone(claimed[0], until: now + .seconds(5))
        #expect(scratch.files == ["spool/waiting/n1.json"])
        #expect(try !spool.hasWork(at: now + .seconds(4)) && spool.hasWork(at: now + .seconds(5)))
        #expect(try spool.nextDue() == now + .seconds(5))
        #expect(try spool.claimDue(at: now + .seconds(4)).isEmpty)
        let due = try spool.claimDue(at: now + .seconds(5))
        #expect(scratch.files == ["spool/active/n1.json"])
        try spool.settle(due[0], at: now)
        #expect(scratch.files == ["receipts/2026-11-21/n1.json"])
        #expect(try !spool.hasWork(at: now + .days(1)) && spool.nextDue() == nil)
    }

    @Test("a claim takes no more than its limit, and all in the end")
    func limit() throws {
        try accept("a", "b", "c", "d", "e")
        var claimed: [String] = []
        for count in [2, 2, 1, 0] {
            let some = try spool.claim(limit: count == 1 ? 2 : max(count, 1))
            #expect(some.count == count)
            claimed += some.map(\.id)
        }
        #expect(claimed.sorted() == ["a", "b", "c", "d", "e"])
    }

    @Test("the earliest of those that wait says when")
    func earliest() throws {
        try accept("a", "b", "c")
        for notification in try spool.claim(limit: 3) {
            let seconds: Int64 = notification.id == "b" ? 1 : 9
            try spool.postpone(notification, until: now + .seconds(seconds))
        }
        #expect(try spool.nextDue() == now + .seconds(1))
        #expect(try spool.claimDue(at: now + .seconds(2)).map(\.id) == ["b"])
        #expect(try spool.nextDue() == now + .seconds(9))
    }

    @Test("a postponed notification keeps what its devices have said")
    func attempts() throws {
        try accept("n1")
        var notification = try #require(try spool.claim(limit: 1).first)
        notification.deliveries[0].outcome = .accepted
        notification.deliveries[1].attempts = [
            Delivery.Attempt(at: now, status: 503, reason: "ServiceUnavailable", pushID: "p")
        ]
        try spool.postpone(notification, until: now)
        let due = try #require(try spool.claimDue(at: now).first)
        #expect(due.deliveries == notification.deliveries)
        #expect(!due.isSettled)
    }

    @Test("one drainer is elected at a time")
    func election() throws {
        let first = try spool.election()
        #expect(first != nil)
        #expect(try Spool(state: scratch.folder.path).election() == nil)
        first?.unlock()
        #expect(try Spool(state: scratch.folder.path).election() != nil)
    }

    @Test("a receipt says what became of it, without whole tokens and without what it said")
    func receipt() throws {
        try spool.accept(Scratch.full())
        let notification = try #require(try spool.claim(limit: 1).first)
        try spool.settle(notification, at: now + .seconds(9))
        let text = String(
            decoding: scratch.folder.read("receipts/2026-11-21/n1.json") ?? [], as: UTF8.self)
        #expect(text.hasSuffix("\n"))
        #expect(text.contains(#""device":"a1b2c3d4…""#) && text.contains(#""outcome":"gone""#))
        #expect(
            text.contains(#""finished_at":1795262409000"#)
                && text.contains(#""reason":"Unregistered""#))
        for secret in ["your turn", "a1b2c3d4e5", "0102030405"] { #expect(!text.contains(secret)) }
    }

    @Test("receipts go when their day ended more than 30 days ago")
    func oldReceipts() throws {
        for day in ["2026-10-21", "2026-10-22", "2026-11-21", "2025-12-31"] {
            try scratch.folder.write("{}", to: "receipts/\(day)/a.json")
        }
        try scratch.folder.write("mine", to: "receipts/notes.txt")
        try spool.removeOldReceipts(at: now)
        #expect(
            scratch.files == [
                "receipts/2026-10-22/a.json", "receipts/2026-11-21/a.json", "receipts/notes.txt",
            ])
        try Spool(state: "\(scratch.folder.path)/none").removeOldReceipts(at: now)
    }

    @Test("a program starts the drainer unless that is somebody else's part")
    func startDrainer() throws {
        var variables = Variables()
        variables.offer("TURNSTONE_DELIVER", "external")
        #expect(try spool.startDrainer(variables) == nil)
        variables = Variables()
        variables.offer("TURNSTONE_DELIVER", "never")
        #expect(
            throws: Failure.misconfigured(
                "unable to use TURNSTONE_DELIVER: must be spawn or external")
        ) {
            try spool.startDrainer(variables)
        }
    }
}
