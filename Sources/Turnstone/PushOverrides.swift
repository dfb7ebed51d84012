/// The members of a request that make a push different on the devices of one push service.
package struct PushOverrides: Equatable, Sendable {
    /// Members of the payload for APNs, merged over those that were made.
    package var apns: JSONObject?
    /// Members of FCM's `android`, merged over those that are made (Google: *AndroidConfig*).
    package var android: JSONObject?
    /// Members of the notification for browsers, which replace those that are made: ``WebNotification``.
    package var web: JSONObject?

    package init() {}

    package init(apns: JSONObject?, android: JSONObject?, web: JSONObject?) {
        self.apns = apns
        self.android = android
        self.web = web
    }

    package var isEmpty: Bool { apns == nil && android == nil && web == nil }

    /// Whether they show a text or play a sound on a service's devices.
    package func areNoticed(on service: PushService) -> Bool {
        func has(_ members: JSONObject?, _ names: [String]) -> Bool {
            names.contains { name in
                guard let value = members?[name] else { return false }
                return value.string?.isVisible ?? (value != .null)
            }
        }
        switch service {
        case .apns:
            let aps = apns?["aps"]?.object
            return aps?.showsText == true || has(aps, ["sound"])
        case .fcm:
            return has(
                android?["notification"]?.object,
                ["title", "body", "title_loc_key", "body_loc_key", "ticker", "sound"])
        case .web: return has(web, ["title", "body"])
        }
    }

    /// The same without texts to show: the text for several messages at once replaces all of theirs.
    package var withoutTexts: PushOverrides {
        var overrides = self
        if var aps = apns?["aps"]?.object {
            aps["alert"] = nil
            overrides.apns?["aps"] = .object(aps)
        }
        if var notification = android?["notification"]?.object {
            for name in [
                "title", "body", "title_loc_key", "title_loc_args", "body_loc_key",
                "body_loc_args", "ticker",
            ] { notification[name] = nil }
            overrides.android?["notification"] = .object(notification)
        }
        overrides.web?["title"] = nil
        overrides.web?["body"] = nil
        return overrides
    }
}
