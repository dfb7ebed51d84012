import APNs
import Credentials
import Drain
import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// Apple's push service, with the provider token that all processes share.
final class APNsProvider: GatewayProvider {
    private let configured: APNsSettings
    let sender: APNsSender
    /// Pushes to try in the other environment.
    private var probes: [Push] = []
    /// Why the other environment's gateway refuses every push of this installation, and when it last said so.
    private var refusal: (reason: String, at: Timestamp)?

    init(_ settings: APNsSettings, _ variables: Variables, state: State) throws(Failure) {
        configured = settings
        let clock = try Environment.clock(variables)
        sender = try APNsSender(settings, clock: clock) { (rejected) throws(Failure) in
            try state.providerToken(settings, rejected: rejected, now: clock())
        }
    }

    let name = "apns"

    let title = (service: "APNs", variables: "APNS_")

    var settings: String { configured.fingerprint }

    var trouble: ProviderTrouble? {
        guard let reason = sender.trouble?.reason else { return nil }
        guard reason == "ExpiredProviderToken" else {
            return ProviderTrouble(
                reason, sentence: "\(configured.noConnection(reason)). The next run tries again")
        }
        return ProviderTrouble(
            reason,
            sentence:
                "APNs refused our provider token (\(reason)): check this machine's clock and the key",
            pause: .minutes(20))
    }

    /// Whether a push goes to the installation's own environment. Trouble there concerns all users. Trouble
    /// in the other environment, which a user's device may belong to, must not stop anything else.
    func isOwn(_ push: Push) -> Bool {
        push.environment ?? configured.environment == configured.environment
    }

    func environment(of push: Push) -> APNsEnvironment? {
        push.registeredEnvironment ?? configured.environment
    }

    func submitAgain(at now: Timestamp, _ verdict: (Push, Verdict) -> Void) {
        let probes = probes
        self.probes = []
        if let refusal, now - refusal.at >= .minutes(5) || now < refusal.at { self.refusal = nil }
        for probe in probes { submit(probe, at: now, verdict) }
    }

    func settle(
        _ push: Push, _ told: APNsVerdict, at now: Timestamp, _ verdict: (Push, Verdict) -> Void
    ) {
        var answer = Verdict(told, of: push.delivery, at: now)
        if !isOwn(push) {
            switch told.outcome {
            case .stopQueue:
                refusal = (told.reason ?? "unknown", now)
                answer = .refused(elsewhere: answer)
            case .notSent:
                // This push waited behind the one that was refused.
                if let refusal { answer = .refused(elsewhere: refusal.reason) }
            default: break
            }
        }
        if let probe = push.probe { return verdict(push, answer.ofProbe(in: probe, at: now)) }
        let other = (push.registeredEnvironment ?? configured.environment).other
        guard told.outcome == .quarantined,
            configured.address(of: other) != configured.address(of: other.other)
        else { return verdict(push, answer) }
        verdict(push, .probing(answer))
        push.probe = other
        probes.append(push)
    }

    func submit(_ push: Push, at now: Timestamp, _ verdict: (Push, Verdict) -> Void) {
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
        switch push.aim {
        case .device(let token):
            return try APNsRequest(
                token: token, id: push.id, payload: payload(of: push),
                bundle: configured.bundleID, priority: content.priority, expiration: expiration,
                collapseID: content.collapseID)
        case .channel(let channel):
            return try APNsRequest(
                channel: channel, id: push.id, payload: payload(of: push),
                bundle: configured.bundleID, priority: content.priority, expiration: expiration)
        }
    }

    private func payload(of push: Push) throws(Failure) -> APNsPayload {
        let content = push.content
        if push.own != nil { return try APNsPayload(content.apnsPayload, type: content.type) }
        let shared = push.encoded as? SharedPayload ?? SharedPayload()
        push.encoded = shared
        return try shared.encoded(content, badge: push.badge, to: push.aim)
    }

}

/// A job's payload, encoded once for all devices.
private final class SharedPayload {
    /// For devices without a badge of their own.
    private var payload: APNsPayload?
    /// For the others. It takes each badge.
    private var badged: APNsBadgedPayload?

    func encoded(
        _ content: PushContent, badge: Int?, to aim: Delivery.Aim
    ) throws(Failure) -> APNsPayload {
        if let badge {
            if badged == nil {
                badged = APNsBadgedPayload(content.apnsPayload, type: content.type)
            }
            // Without copying it.
            if let payload = try badged?.payload(badge: badge) { return payload }
        }
        if let payload { return payload }
        var limit: Int?
        if case .channel = aim { limit = PushType.broadcastLimit }
        let encoded = try APNsPayload(content.apnsPayload, type: content.type, limit: limit)
        payload = encoded
        return encoded
    }
}
