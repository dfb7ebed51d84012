/// Several messages shown as one push, because their user gets them all at once.
package enum MergedMessages {
    /// The newest message's payload, with an alert that gives the number of messages and names the newest
    /// three.
    ///
    /// - Parameters:
    ///   - payloads: the oldest first; at least two.
    ///   - texts: in the user's language.
    ///   - keepsData: whether to keep the newest payload's members beside `aps`.
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
        if let text = payload.aps["alert"]?.string { return text }
        let title = payload.alert?["title"]?.string
        let body = payload.alert?["body"]?.string
        guard let title, let body else { return title ?? body }
        return "\(title): \(body)"
    }
}
