import JSON
import Turnstone

/// The message for a browser, before encryption: a declarative message (W3C *Push API*, section 3.3). Safari
/// shows it by itself; elsewhere a service worker reads the same members.
package struct WebPushMessage: Equatable, Sendable {
    package let bytes: [UInt8]
    package let urgency: Urgency
    package let topic: String?
    /// Whether the push service keeps it for a browser that is offline.
    package let isKept: Bool
    /// Whether the text was cut to make the message fit.
    package let isShortened: Bool

    /// The cause of the failure of ``init(_:badge:in:overrides:home:limit:)`` for a push that shows nothing.
    package static let notShown = "NotShown"

    /// Translates a push. `subtitle` and `body` of the alert become the body; without a title, the first text
    /// is the title. The app's own members become `data`.
    ///
    /// - Parameters:
    ///   - badge: the device's own badge; `nil` for the payload's.
    ///   - language: the language of its text, if it is known.
    ///   - overrides: the object `web` of the request: members of the notification that replace ours.
    ///   - home: where a click leads if neither `web_url` nor `url` in the payload is an absolute https URL.
    ///   - limit: the largest number of bytes.
    /// - Throws: a refusal. Its cause is ``notShown`` for a push that shows nothing, such as a silent one: it
    ///   must not be sent to any browser, which would take the user's permission back, and the subscription
    ///   stays. The cause is `PayloadTooLarge` if the message does not fit without its text either.
    package init(
        _ content: PushContent, badge: Int64? = nil, in language: LanguageTag? = nil,
        overrides: JSONObject? = nil, home: String, limit: Int = MessageEncryption.messageLimit
    ) throws(Failure) {
        var notification = WebNotification.members(
            of: content, badge: badge, in: language, home: home)
        if let overrides {
            try WebNotification.check(overrides)
            for member in overrides.members {
                notification[member.name] = member.value == .null ? nil : member.value
            }
            if notification["navigate"] == nil { notification["navigate"] = .string(home) }
            // Browsers refuse both combinations (Notifications API, *create a notification with a settings
            // object*). Without a tag, nothing is replaced, so there is nothing to alert to again.
            if notification["vibrate"] != nil, overrides["silent"] == nil {
                notification["silent"] = nil
            }
            if notification["tag"]?.string?.isEmpty != false { notification["renotify"] = nil }
        }
        guard content.type == .alert, notification["title"]?.string?.isVisible == true else {
            throw Failure(
                .refused(.unacceptable),
                "a browser must show every push, and this one has no text",
                cause: Self.notShown)
        }
        urgency = Urgency(content)
        topic = content.collapseID.map { WebPush.topic(of: $0) }
        isKept = content.isKept
        let whole = Self.text(notification)
        if whole.count <= limit {
            bytes = whole
            isShortened = false
            return
        }
        // A title without a body may be the whole text.
        let name = notification["body"] == nil ? "title" : "body"
        guard let shortened = Self.cut(name, of: notification, to: limit) else {
            throw Failure(
                .refused(.tooLarge),
                "the message for browsers has \(whole.count) bytes; the limit is \(limit)",
                cause: "PayloadTooLarge")
        }
        bytes = shortened
        isShortened = true
    }

    /// The badge is in both places: WebKit reads the inner one, the W3C's draft has the outer one.
    private static func text(_ notification: JSONObject) -> [UInt8] {
        var message: JSONObject = ["web_push": 8030, "notification": .object(notification)]
        message["app_badge"] = notification["app_badge"]
        message["mutable"] = notification["mutable"]
        return JSON.text(.object(message))
    }

    /// Cuts a text between two characters as a reader sees them; `…` replaces the rest.
    private static func cut(
        _ name: String, of notification: JSONObject, to limit: Int
    ) -> [UInt8]? {
        guard let text = notification[name]?.string else { return nil }
        var notification = notification
        notification[name] = "…"
        var room = limit - Self.text(notification).count
        guard room >= 0 else { return nil }
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            // Characters are encoded one by one; two bytes are the quotes.
            room -= JSON.text(.string(String(text[end..<next]))).count - 2
            guard room >= 0 else { break }
            end = next
        }
        notification[name] = .string(String(text[..<end]) + "…")
        return Self.text(notification)
    }
}
