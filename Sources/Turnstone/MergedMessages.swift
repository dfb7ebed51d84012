/// Several messages shown as one push, because their user gets them all at once.
package enum MergedMessages {
    /// How much of the newest message is left in the push. Each is smaller than the one before.
    package enum Extent: Int, Sendable {
        case all
        /// Not the members beside `aps`.
        case withoutData
        /// Not what is different for single push services either.
        case withoutOverrides
        /// Only what makes the device show it.
        case alert

        /// `nil` after the smallest one.
        package var smaller: Extent? { Extent(rawValue: rawValue + 1) }
    }

    /// The newest message's content, with an alert that gives the number of messages and names the newest
    /// three.
    ///
    /// - Parameters:
    ///   - payloads: the messages' payloads, the oldest first; at least two.
    ///   - texts: in the user's language.
    package static func content(
        _ newest: PushContent, _ payloads: [Payload], _ texts: TurnTexts, _ extent: Extent
    ) -> PushContent {
        var content = newest
        content.payload = payload(payloads, texts, keepsData: extent == .all)
        switch extent {
        case .all, .withoutData: content.overrides = newest.overrides.withoutTexts
        case .withoutOverrides: content.overrides = PushOverrides()
        case .alert:
            content.overrides = PushOverrides()
            let whole = content.payload.aps
            var aps: JSONObject = [:]
            for name in ["alert", "badge", "interruption-level"] { aps[name] = whole[name] }
            if whole["sound"] != nil { aps["sound"] = "default" }
            content.payload.aps = aps
        }
        return content
    }

    /// The newest message's payload, with an alert that gives the number of messages and names the newest
    /// three.
    ///
    /// - Parameter keepsData: whether to keep the newest payload's members beside `aps`.
    package static func payload(
        _ payloads: [Payload], _ texts: TurnTexts = .english, keepsData: Bool = true
    ) -> Payload {
        let newest = payloads.last ?? Payload(aps: [:])
        var payload = keepsData ? newest : Payload(aps: newest.aps)
        var alert: JSONObject = [
            "title": .string(texts.filled(.merged, String(payloads.count)))
        ]
        // There may be thousands.
        let names = Array(payloads.reversed().lazy.compactMap(name).prefix(3))
        if !names.isEmpty { alert["body"] = .string(names.joined(separator: "\n")) }
        payload.alert = alert
        payload["merged"] = .integer(Int64(payloads.count))
        return payload
    }

    /// A message's name on one line; `nil` if only the app has its texts.
    private static func name(of payload: Payload) -> String? {
        if let text = payload.aps["alert"]?.string { return text.isVisible ? text : nil }
        func text(_ name: String) -> String? {
            payload.alert?[name]?.string.flatMap { $0.isVisible ? $0 : nil }
        }
        let title = text("title") ?? text("subtitle")
        let body = text("body")
        guard let title, let body else { return title ?? body }
        return "\(title): \(body)"
    }
}
