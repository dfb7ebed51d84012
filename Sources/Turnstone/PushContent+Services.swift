extension PushContent {
    /// The payload for APNs: the payload with the members of ``PushOverrides/apns`` merged over it.
    package var apnsPayload: Payload { apnsPayload(of: payload) }

    /// Another payload with the members of ``PushOverrides/apns`` merged over it.
    package func apnsPayload(of payload: Payload) -> Payload {
        guard let apns = overrides.apns else { return payload }
        return Payload(.object(payload.members.merged(with: apns))) ?? payload
    }

    /// Whether a service's devices can do anything with it.
    ///
    /// Only Apple has the types beside alert and background. A browser shows every push, so it must have a
    /// text: `WebPushMessage` refuses others.
    package func suits(_ service: PushService) -> Bool {
        switch service {
        case .apns: true
        case .fcm: type == .alert || type == .background
        case .web: type == .alert && hasWebTitle
        }
    }

    /// Whether there is a text for the title of a browser's notification.
    private var hasWebTitle: Bool {
        if let title = overrides.web?["title"] { return title.string?.isVisible == true }
        let alert = payload.alert
        let texts = [alert?["title"]?.string, alert?["subtitle"]?.string, payload.alertText]
        return texts.contains { $0?.isVisible == true }
    }
}
