import Gateways
import Turnstone
import Unix

/// A provider that submits pushes to a sender, which sends and receives without waiting.
package protocol GatewayProvider: Provider {
    associatedtype Sender: PushSender

    var sender: Sender { get }

    /// Hands a push to the sender, or gives its verdict if it cannot be sent.
    func submit(_ push: Push, at now: Timestamp, _ verdict: (Push, Verdict) -> Void)

    /// Gives the verdict of a push that the push service has answered.
    func settle(
        _ push: Push, _ answer: Sender.ServiceVerdict, at now: Timestamp,
        _ verdict: (Push, Verdict) -> Void)

    /// Submits what must go before the pushes that come next.
    func submitAgain(at now: Timestamp, _ verdict: (Push, Verdict) -> Void)
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
        var room = sender.room
        // Pushes are sent in batches, so that the gateway works on one while the next is made.
        let batch = max(32, (sender.backlog + room) / 8)
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
            room = count < batch ? 0 : min(room, sender.room)
        } while room > 0
        if isIdle { sender.wait(upTo: pause) }
    }

    /// Sends and receives.
    ///
    /// - Returns: whether no verdict came.
    private func settleAnswered(
        at now: Timestamp, _ verdict: (Push, Verdict) -> Void
    ) throws(Failure) -> Bool {
        let settled = try sender.exchange()
        for settled in settled {
            guard let push = settled.push as? Push else { continue }
            settle(push, settled.verdict, at: now, verdict)
        }
        return settled.isEmpty
    }

    package func giveBackUnsent() { sender.giveBackUnsent("the drainer ends") }

    package func close() { sender.close() }
}
