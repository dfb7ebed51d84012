import PushServices
import Spool
import Store
import Turnstone
import WebPushCredentials

extension Examination {
    /// The queues of a push service by the name under which its state is recorded; none for files.
    private func queues(of service: String) throws(Failure) -> [Spool] {
        try spools.all().filter { $0.service.rawValue == service }
    }

    private func hasReadyOrPutOff(_ service: String) throws(Failure) -> Bool {
        for spool in try queues(of: service) where try spool.hasReadyOrPutOff() { return true }
        return false
    }

    private func hasPutOff(_ service: String) throws(Failure) -> Bool {
        for spool in try queues(of: service) where try spool.hasPutOff() { return true }
        return false
    }

    /// A push service that refuses our settings or cannot be reached.
    func stops() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        for stop in try state.deliveryStops() {
            // A failed connection is tried again when there is something to send.
            if stop.until == nil, PushService(rawValue: stop.service) != nil,
                try !hasReadyOrPutOff(stop.service)
            {
                continue
            }
            problems.append(
                Problem(
                    "delivery stopped",
                    "Nothing is sent through \(stop.service): \(reason(of: stop)).",
                    action: action(for: stop),
                    [
                        "service": .string(stop.service), "reason": .string(stop.reason),
                        "since": .string(text(stop.since)),
                    ]))
        }
        return problems
    }

    private func action(for stop: DeliveryStop) -> String {
        let waits = "Accepted notifications wait."
        let isFCM = PushService(rawValue: stop.service) == .fcm
        if isFCM,
            stop.reason.hasPrefix(FCMSettings.noToken) || stop.reason == FCMSettings.refusedToken
        {
            return
                "Check the service account (FCM_SERVICE_ACCOUNT), this machine's clock and its network. \(waits)"
        }
        if stop.until == nil {
            let address = isFCM ? "FCM_BASE_URL" : "APNS_BASE_URL"
            return "Check this machine's network and \(address). \(waits)"
        }
        return isFCM
            ? "Correct the service account (FCM_SERVICE_ACCOUNT) or its project's rights. \(waits)"
            : "Correct the key, the team or the topic. \(waits)"
    }

    /// Only a failed connection has no time for the next attempt.
    private func reason(of stop: DeliveryStop) -> String {
        guard stop.until == nil else { return stop.reason }
        do throws(Failure) {
            let sentence =
                PushService(rawValue: stop.service) == .fcm
                ? try FCMSettings(variables)?.noConnection(stop.reason)
                : try APNsSettings(variables)?.noConnection(stop.reason)
            return sentence ?? stop.reason
        } catch { return stop.reason }  // another problem reports the configuration
    }

    /// A push service that judges no pushes.
    func failures() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        for failure in try state.deliveryFailures() where now - failure.since > Self.patience {
            // Another problem reports that it is not configured any more.
            if let service = PushService(rawValue: failure.service),
                !state.services.contains(service)
            {
                continue
            }
            // If nothing waits for the service any more, nobody has asked it again.
            guard try hasPutOff(failure.service) else { continue }
            problems.append(
                Problem(
                    "delivery failing",
                    """
                    Since \(text(failure.since)), \(failure.service) has been asked and has answered no \
                    push: \(failure.reason).
                    """,
                    action:
                        """
                        Accepted notifications wait and are tried again. If it lasts, check the push \
                        service's status page.
                        """,
                    [
                        "service": .string(failure.service), "reason": .string(failure.reason),
                        "since": .string(text(failure.since)),
                    ]))
        }
        return problems
    }

    /// A push service that has refused pushes to many users and accepted none since, and one that has refused them
    /// to so many that their devices are kept. It may be the same one.
    func refusals() throws(Failure) -> [Problem] {
        try state.refusals().filter {
            $0.users >= State.ServiceRefusals.alarmThreshold && isWithPresentSettings($0)
        }.map { refusals in
            Problem(
                "pushes refused",
                message(refusals),
                action: remedy(of: refusals),
                [
                    "service": .string(refusals.service), "reason": .string(refusals.reason),
                    "since": .string(text(refusals.since)),
                ])
        }
    }

    private func message(_ refusals: State.ServiceRefusals) -> String {
        let isLimit = refusals.users == State.ServiceRefusals.maximumUsers
        let users = "\(isLimit ? "at least " : "")\(refusals.users) users: \(refusals.reason)."
        let start = "Since \(text(refusals.since)), \(refusals.service) has"
        return refusals.areKept
            ? """
            \(start) refused pushes to \(users) Their devices are kept, because these settings may be the \
            reason.
            """
            : "\(start) accepted no push with these settings and refused those to \(users)"
    }

    private func isWithPresentSettings(_ refusals: State.ServiceRefusals) -> Bool {
        // Another problem reports what is wrong with the configuration.
        do throws(Failure) {
            return switch PushService(rawValue: refusals.service) {
            case .apns: try APNsSettings(variables)?.fingerprint == refusals.settings
            case .fcm: try FCMSettings(variables)?.fingerprint == refusals.settings
            case .web:
                try WebPushSettings(variables).map { (settings) throws(Failure) in
                    try state.vapidFingerprint(settings) == refusals.settings
                } ?? false
            case nil: false
            }
        } catch { return false }
    }

    private func remedy(of refusals: State.ServiceRefusals) -> String {
        switch PushService(rawValue: refusals.service) {
        case .fcm:
            "Correct the project of the service account (FCM_SERVICE_ACCOUNT), or the address (FCM_BASE_URL)."
        case .web:
            "Restore the VAPID key that the browsers subscribed with (credentials/vapid.json, or VAPID_PRIVATE_KEY_PATH), or look for what answers in the push service's place, such as a proxy."
        case .apns, nil:
            "Correct the topic (APNS_BUNDLE_ID), the key's team, APNS_ENVIRONMENT, or the address (APNS_BASE_URL)."
        }
    }

    /// A push service for which notifications wait, although it is no longer configured.
    func unconfigured() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        var named: Set<PushService> = []
        for spool in try spools.all() where !state.services.contains(spool.service) {
            guard try spool.hasReadyOrPutOff(), named.insert(spool.service).inserted else {
                continue
            }
            let (devices, variable) =
                spool.service == .fcm
                ? ("Android phones", "FCM_SERVICE_ACCOUNT") : ("browsers", "VAPID_SUBJECT")
            problems.append(
                Problem(
                    "push service missing",
                    "Notifications for \(devices) wait, but \(variable) is not set.",
                    action: "Set \(variable) again. README.md describes it.",
                    ["service": .string(spool.service.rawValue)]))
        }
        return problems
    }
}
