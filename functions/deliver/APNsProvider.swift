import APNs
import Credentials
import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// Apple's push service, with the provider token that all processes share.
final class APNsProvider {
    let settings: APNsSettings
    private let sender: APNsSender
    /// Pushes to try in the other environment.
    private var probes: [Push] = []
    /// Why the other environment's gateway refuses every push of this installation, and when it last said so.
    private var refusal: (reason: String, at: Timestamp)?

    init(_ settings: APNsSettings, _ variables: Variables, state: State) throws(Failure) {
        self.settings = settings
        sender = try APNsSender(settings) { (rejected) throws(Failure) in
            try state.providerToken(
                settings, rejected: rejected, now: Environment.now(variables))
        }
    }

    var trouble: APNsGateway.Trouble? { sender.trouble }

    /// Whether a push goes to the installation's own environment. Trouble there concerns all users. Trouble
    /// in the other environment, which a user's device may belong to, must not stop anything else.
    func isOwn(_ push: Push) -> Bool {
        push.environment ?? settings.environment == settings.environment
    }

    func step(
        pause: Interval, at now: Timestamp, next: () -> Push?,
        beforeSending: () throws(Failure) -> Void, verdict: (Push, Verdict) -> Void
    ) throws(Failure) {
        var isIdle = try settleAnswered(at: now, verdict)
        let probes = probes
        self.probes = []
        if let refusal, now - refusal.at >= .minutes(5) || now < refusal.at { self.refusal = nil }
        for probe in probes { submit(probe, verdict) }
        // The gateway's limit on pushes is known only after the exchange.
        var room = sender.room
        // Pushes are sent in batches, so that the gateway works on one while the next is made.
        let batch = max(32, (sender.backlog + room) / 8)
        repeat {
            var count = 0
            while count < batch, room > 0, let push = next() {
                room -= 1
                count += 1
                submit(push, verdict)
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

    /// Sends and receives without waiting.
    ///
    /// - Returns: whether no verdict came.
    private func settleAnswered(
        at now: Timestamp, _ verdict: (Push, Verdict) -> Void
    ) throws(Failure) -> Bool {
        let settled = try sender.exchange()
        for settled in settled { settle(settled, at: now, verdict) }
        return settled.isEmpty
    }

    private func settle(
        _ settled: APNsGateway.Settled, at now: Timestamp, _ verdict: (Push, Verdict) -> Void
    ) {
        guard let push = settled.push as? Push else { return }
        var answer = Verdict(settled.verdict, of: push.delivery, at: now)
        if !isOwn(push) {
            switch settled.verdict.outcome {
            case .stopQueue:
                refusal = (settled.verdict.reason ?? "unknown", now)
                answer = .refused(elsewhere: answer)
            case .notSent:
                // This push waited behind the one that was refused.
                if let refusal { answer = .refused(elsewhere: refusal.reason) }
            default: break
            }
        }
        if let probe = push.probe { return verdict(push, answer.ofProbe(in: probe, at: now)) }
        let other = (push.delivery.environment ?? settings.environment).other
        guard settled.verdict.outcome == .quarantined,
            settings.address(of: other) != settings.address(of: other.other)
        else { return verdict(push, answer) }
        verdict(push, .probing(answer))
        push.probe = other
        probes.append(push)
    }

    private func submit(_ push: Push, _ verdict: (Push, Verdict) -> Void) {
        if let refusal, !isOwn(push) {
            let answer = Verdict.refused(elsewhere: refusal.reason)
            return verdict(
                push, push.probe.map { answer.ofProbe(in: $0, at: refusal.at) } ?? answer)
        }
        do throws(Failure) { try submit(push) } catch { verdict(push, Verdict(refused: error)) }
    }

    private func submit(_ push: Push) throws(Failure) {
        let request = try request(push)
        sender.submit(request, in: push.environment, for: push)
    }

    private func request(_ push: Push) throws(Failure) -> APNsRequest {
        let content = push.content
        let expiration = content.isKept ? push.expires : Timestamp(milliseconds: 0)
        switch push.delivery.aim {
        case .device(let token):
            return try APNsRequest(
                token: token, id: push.id, payload: push.encodedPayload(),
                bundle: settings.bundleID, priority: content.priority, expiration: expiration,
                collapseID: content.collapseID)
        case .channel(let channel):
            return try APNsRequest(
                channel: channel, id: push.id, payload: push.encodedPayload(),
                bundle: settings.bundleID, priority: content.priority, expiration: expiration)
        }
    }

    func giveBackUnsent() { sender.giveBackUnsent("the drainer ends") }

    func close() { sender.close() }
}
