import Drain
import Edge
import PushServices
import Signatures
import Spool
import Store
import Turnstone
import Unix
import WebPush
import WebPushCredentials

/// The name under which stops and acceptances are recorded.
private let recordedName = "web"

/// The push services of browsers, with the VAPID key and tokens that all processes share.
final class WebPushProvider: GatewayProvider {
    private let configured: WebPushSettings
    let sender: WebPushSender
    let settings: String

    init(_ variables: Variables, state: State) throws(Failure) {
        guard let settings = try WebPushSettings(variables) else {
            throw variables.wrong(
                "VAPID_SUBJECT",
                "notifications for browsers wait; set it to an address where you can be reached, such as mailto:push@example.org"
            )
        }
        let key = try state.vapidKey(settings)
        configured = settings
        self.settings = settings.fingerprint(with: key)
        let clock = try Environment.clock(variables)
        let isVouchedFor = hasAccepted(self.settings, in: state)
        sender = try WebPushSender(settings, isVouchedFor: isVouchedFor, clock: clock) {
            (origin, rejected) throws(Failure) in
            try state.vapidToken(
                settings, key: key, origin: origin, rejected: rejected, now: clock())
        }
    }

    let name = recordedName

    let title = (service: "the push service", variables: "VAPID_ and WEBPUSH_")

    /// There is always an origin that may work.
    var trouble: ProviderTrouble? { nil }

    func settle(
        _ push: Push, _ answer: WebPushVerdict, at now: Timestamp,
        _ verdict: (Push, Verdict) -> Void
    ) {
        verdict(
            push, Verdict(answer, of: push.delivery, at: now, obstacle: obstacle(to: push, answer)))
    }

    /// Users can make up hosts only where a pattern allows any name. What answers at a known push service's host
    /// is that push service.
    private func obstacle(to push: Push, _ answer: WebPushVerdict) -> Verdict.Obstacle? {
        guard answer.status != nil || answer.isObstructed,
            let endpoint = push.delivery.token?.subscription?.endpoint
        else { return nil }
        let hosts = configured.hosts
        let isReached = answer.status != nil || answer.outcome == .noVerdict
        let mayBeMadeUp =
            isReached ? hosts.mayBeUsersOwn(endpoint) : !hosts.nameExactly(endpoint)
        return hosts.allow(endpoint) && mayBeMadeUp ? .perhapsAddress : .service
    }

    func submit(_ push: Push, at now: Timestamp, _ verdict: (Push, Verdict) -> Void) {
        do throws(Failure) {
            guard let subscription = push.delivery.token?.subscription else {
                return verdict(push, .noSubscription)
            }
            let request = WebPushRequest(
                try message(of: push), to: subscription, of: push.user, expires: push.expires)
            sender.submit(request, for: push)
        } catch { verdict(push, Verdict(refused: error)) }
    }

    private func message(of push: Push) throws(Failure) -> WebPushMessage {
        try push.encoded { () throws(Failure) in
            try WebPushMessage(
                push.content, badge: push.delivery.badge.map { Int64($0) }, in: push.language,
                overrides: push.content.overrides.web, home: configured.home)
        }
    }

    func close() {
        sender.close()
        // The answers that arrived meanwhile are lost with the process, as after a crash.
        do throws(Failure) { _ = try sender.exchange() } catch {}
    }
}

/// Whether a push service has accepted a message under these settings in an earlier run. A record that cannot
/// be read vouches for nothing; the clean-up reports it.
private func hasAccepted(_ settings: String, in state: State) -> Bool {
    do throws(Failure) {
        return try !state.acceptances(of: recordedName, under: settings).isEmpty
    } catch { return false }
}
