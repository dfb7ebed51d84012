import Turnstone

extension WebNotification {
    /// The members of a notification that shows what a push shows on a phone.
    ///
    /// - Parameters:
    ///   - language: the language of its text, if it is known.
    ///   - home: where a click leads if the payload does not say.
    static func members(
        of content: PushContent, badge: Int64?, in language: LanguageTag?, home: String
    ) -> JSONObject {
        let payload = content.payload
        let alert = payload.aps["alert"]
        let title = alert?.object?["title"]?.string
        let lines = [alert?.object?["subtitle"]?.string, payload.alertText].compactMap(visible)
        var texts = lines
        var members = JSONObject()
        if let title = visible(title) {
            members["title"] = .string(title)
        } else if !texts.isEmpty {
            members["title"] = .string(texts.removeFirst())
        }
        if !texts.isEmpty { members["body"] = .string(texts.joined(separator: "\n")) }
        members["lang"] = language.map { .string($0.text) }
        members["navigate"] = .string(address(in: payload, ["web_url", "url"]) ?? home)
        let image = address(in: payload, ["image"])
        members["image"] = image.map { .string($0) }
        members["tag"] = content.collapseID.map { .string($0) }
        members["app_badge"] = (badge ?? payload.badge).map { .integer(max(0, $0)) }
        // Without a sound, or as a passive alert, it is silent on a phone, too.
        let isPassive = payload.aps["interruption-level"]?.string == "passive"
        if isPassive || payload.aps["sound"] == nil { members["silent"] = true }
        var data = payload.members
        data["aps"] = nil
        if image != nil { data["image"] = nil }
        if !data.members.isEmpty { members["data"] = .object(data) }
        return members
    }

    private static func visible(_ text: String?) -> String? {
        guard let text, text.isVisible else { return nil }
        return text
    }

    private static func address(in payload: Payload, _ names: [String]) -> String? {
        for name in names {
            if let text = payload[name]?.string, isSecureURL(text) { return text }
        }
        return nil
    }
}
