import Edge
import Turnstone
import Unix

/// A provider that submits pushes to a sender, which sends and receives without waiting.
package protocol GatewayProvider: Provider {
    /// The number of pushes that should be submitted now.
    var room: Int { get }

    /// The number of pushes without a verdict.
    var backlog: Int { get }

    /// Hands a push to the sender, or gives its verdict if it cannot be sent.
    func submit(_ push: Push, at now: Timestamp, _ verdict: (Push, Verdict) -> Void)

    /// Sends and receives without waiting.
    ///
    /// - Returns: whether no verdict came.
    func settleAnswered(
        at now: Timestamp, _ verdict: (Push, Verdict) -> Void
    ) throws(Failure) -> Bool

    /// Submits what must go before the pushes that come next.
    func submitAgain(at now: Timestamp, _ verdict: (Push, Verdict) -> Void)

    /// Waits until something arrives.
    func wait(upTo pause: Interval)
}

extension GatewayProvider {
    package func submitAgain(at now: Timestamp, _ verdict: (Push, Verdict) -> Void) {}

    package func step(
        pause: Interval, at now: Timestamp, next: () -> Push?,
        beforeSending: () throws(Failure) -> Void, verdict: (Push, Verdict) -> Void
    ) throws(Failure) {
        var isIdle = try settleAnswered(at: now, verdict)
        submitAgain(at: now, verdict)
        // The gateway's limit on pushes is known only after the exchange.
        var room = room
        // Pushes are sent in batches, so that the gateway works on one while the next is made.
        let batch = max(32, (backlog + room) / 8)
        repeat {
            var count = 0
            while count < batch, room > 0, let push = next() {
                room -= 1
                count += 1
                submit(push, at: now, verdict)
            }
            do throws(Failure) { try beforeSending() } catch {
                giveBackUnsent()
                _ = try settleAnswered(at: now, verdict)
                throw error
            }
            isIdle = try settleAnswered(at: now, verdict) && isIdle
            room = count < batch ? 0 : min(room, self.room)
        } while room > 0
        if isIdle { wait(upTo: pause) }
    }
}
