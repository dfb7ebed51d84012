/// Several messages as one push shows them, since their user is told of all of them at once.
package enum MergedMessages {
    /// The newest message's payload with an alert that says how many messages there are and what they are called.
    ///
    /// - Parameters:
    ///   - payloads: the oldest first; at least two.
    ///   - keepsData: whether it keeps the newest one's members beside `aps`.
    package static func payload(_ payloads: [Payload], keepsData: Bool = true) -> Payload {
        let newest = payloads.last ?? Payload(aps: [:])
        var payload = keepsData ? newest : Payload(aps: newest.aps)
        var alert: JSONObject = ["title": .string("\(payloads.count) new notifications")]
        let names = payloads.reversed().compactMap(name)
        if !names.isEmpty { alert["body"] = .string(names.prefix(3).joined(separator: "\n")) }
        payload.aps["alert"] = .object(alert)
        payload["merged"] = .integer(Int64(payloads.count))
        return payload
    }

    /// What a message is about, in a line; `nil` where only the app has its texts.
    private static func name(of payload: Payload) -> String? {
        let alert = payload.aps["alert"]
        if let text = alert?.string { return text }
        let title = alert?.object?["title"]?.string
        let body = alert?.object?["body"]?.string
        guard let title, let body else { return title ?? body }
        return "\(title): \(body)"
    }
}
