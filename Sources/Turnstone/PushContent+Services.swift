extension PushContent {
    /// The payload for APNs: the payload with the members of ``PushOverrides/apns`` merged over it.
    package var apnsPayload: Payload { apnsPayload(of: payload) }

    /// Another payload with the members of ``PushOverrides/apns`` merged over it.
    package func apnsPayload(of payload: Payload) -> Payload {
        guard let apns = overrides.apns else { return payload }
        return Payload(.object(payload.members.merged(with: apns))) ?? payload
    }

    /// The payload with the texts that a service's devices show.
    package func payload(shownOn service: PushService) -> Payload {
        switch service {
        case .apns: apnsPayload
        case .fcm: payload.withTexts(of: overrides.android?["notification"]?.object)
        case .web: payload.withTexts(of: overrides.web)
        }
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

extension Payload {
    /// The same with the title and the body of a service's own object, where it has some.
    fileprivate func withTexts(of own: JSONObject?) -> Payload {
        let texts = ["title", "body"].compactMap { name in
            own?[name]?.string.map { (name: name, text: $0) }
        }
        guard !texts.isEmpty else { return self }
        var alert = aps["alert"]?.object ?? [:]
        if let text = aps["alert"]?.string { alert["body"] = .string(text) }
        for (name, text) in texts { alert[name] = .string(text) }
        var payload = self
        payload.aps["alert"] = .object(alert)
        return payload
    }
}
