import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Which of two messages came first.
@Suite struct MessageOrderTests {
    @Test(
        "messages are numbered and released in the order of acceptance, whatever the clock showed")
    func order() throws {
        let scratch = Scratch()
        let user = UserID("42")!
        let box = HeldBox(of: user, "phone")
        let now = Scratch.now
        // The clock was a day ahead when the message before was accepted.
        let ahead = Timestamp.systemNanoseconds + 86_400_000_000_000
        try scratch.folder.write("\(ahead)", to: "spool/order.lock")
        let times = [now, now + .minutes(-60), now + .minutes(-1)]
        var orders: [Int64] = []
        for (number, time) in times.enumerated() {
            var message = Notification(
                id: "00000000-0000-8000-8000-00000000000\(9 - number)", user: user, accepted: time,
                expires: now + .hours(9),
                push: PushContent(badge: Int64(number), collapseID: "badge"))
            message.order = try scratch.spools.nextOrder(at: now)
            orders.append(message.order ?? 0)
            try scratch.spool.hold(
                message, Scratch.devices[0], in: box, until: now + .minutes(Int64(30 - number)),
                now: now)
        }
        #expect(orders == [ahead + 1, ahead + 2, ahead + 3])
        let release = "00000000-0000-8000-8000-000000000000"
        try scratch.spool.release(box, as: release, among: scratch.spool.heldMoments())
        let messages = try scratch.spool.messages(of: release) { (_, _, failure) throws(Failure) in
            throw failure
        }
        #expect(messages.map { $0.notification.order } == orders)
    }
}
