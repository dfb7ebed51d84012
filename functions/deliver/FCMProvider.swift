import Credentials
import Drain
import Edge
import FCM
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// Firebase Cloud Messaging, with the access token that all processes share.
final class FCMProvider: GatewayProvider {
    private let configured: FCMSettings
    let sender: FCMSender

    init(_ variables: Variables, state: State) throws(Failure) {
        guard let settings = try FCMSettings(variables) else {
            throw variables.wrong(
                "FCM_SERVICE_ACCOUNT",
                "notifications for Android phones wait; set it to the service account's JSON file"
            )
        }
        configured = settings
        sender = try FCMSender(
            settings, store: state.accessTokens(settings, now: Environment.clock(variables)))
    }

    let name = "fcm"

    let title = (service: "FCM", variables: "FCM_")

    var settings: String { configured.fingerprint }

    var trouble: ProviderTrouble? {
        guard let reason = sender.trouble?.reason else { return nil }
        return ProviderTrouble(
            reason, sentence: "\(configured.noConnection(reason)). The next run tries again")
    }

    func settle(
        _ push: Push, _ answer: FCMVerdict, at now: Timestamp,
        _ verdict: (Push, Verdict) -> Void
    ) { verdict(push, Verdict(answer, of: push.delivery, at: now)) }

    func submit(_ push: Push, at now: Timestamp, _ verdict: (Push, Verdict) -> Void) {
        do throws(Failure) {
            guard let token = push.delivery.token else { return verdict(push, .refusedChannel) }
            let request = FCMRequest(try message(of: push), to: token, now: now)
            sender.submit(request, for: push)
        } catch { verdict(push, Verdict(refused: error)) }
    }

    private func message(of push: Push) throws(Failure) -> FCMMessage {
        try push.encoded { () throws(Failure) in
            var content = push.content
            content.payload = push.payload
            return try FCMMessage(
                content, id: push.job.notification.id, expires: push.expires,
                overrides: content.overrides.android)
        }
    }

}
