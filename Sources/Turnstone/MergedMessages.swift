/// Several messages as one push shows them, since their user is told of all of them at once.
package enum MergedMessages {
    /// The newest message's payload with an alert that says how many messages there are and what they are called.
    ///
    /// - Parameters:
    ///   - payloads: each an object with `aps` in it, the oldest first; at least two.
    ///   - keepsData: whether it has what the newest one has beside `aps`.
    package static func payload(_ payloads: [JSONObject], keepsData: Bool = true) -> JSONObject {
        var payload = payloads.last ?? [:]
        if !keepsData { payload = ["aps": payload["aps"] ?? [:]] }
        var aps = payload["aps"]?.object ?? [:]
        var alert: JSONObject = ["title": .string("\(payloads.count) new notifications")]
        let names = payloads.reversed().compactMap(name)
        if !names.isEmpty { alert["body"] = .string(names.prefix(3).joined(separator: "\n")) }
        aps["alert"] = .object(alert)
        payload["aps"] = .object(aps)
        payload["merged"] = .integer(Int64(payloads.count))
        return payload
    }

    /// What a message is about, in a line; `nil` where only the app has its texts.
    private static func name(of payload: JSONObject) -> String? {
        let alert = payload["aps"]?.object?["alert"]
        if let text = alert?.string { return text }
        let title = alert?.object?["title"]?.string
        let body = alert?.object?["body"]?.string
        guard let title, let body else { return title ?? body }
        return "\(title): \(body)"
    }
}
