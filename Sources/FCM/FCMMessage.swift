import JSON
import Turnstone

/// A message as FCM takes it, encoded once for all devices of a notification.
///
/// | of the push | becomes |
/// |---|---|
/// | `aps.alert` as text, its `body` | `notification.body` |
/// | its `title` | `notification.title` |
/// | its `subtitle` | the first line of `notification.body`: Android has no subtitle |
/// | its `title-loc-key`, `title-loc-args` | `android.notification.title_loc_key`, `title_loc_args` |
/// | its `loc-key`, `loc-args` | `android.notification.body_loc_key`, `body_loc_args` |
/// | its `subtitle-loc-key`, `launch-image` | nothing |
/// | `aps.sound`, or its `name` | `android.notification.sound` |
/// | `aps.badge` | `android.notification.notification_count`, with a text |
/// | `aps.category` | `android.notification.click_action` |
/// | `aps.thread-id` | `data.thread_id`: FCM groups nothing |
/// | `aps.target-content-id` | `data.target_content_id` |
/// | `aps.interruption-level` | `android.notification.notification_priority` |
/// | level `passive`; above `active` | `android.priority` NORMAL; HIGH |
/// | otherwise priority 5 or 1; 10 | `android.priority` NORMAL; HIGH |
/// | expiration | `android.ttl`, from 0 to 28 days; `0s` if nothing is kept |
/// | collapse id | `android.collapse_key` and `android.notification.tag` |
/// | `image`, or `fcm_options.image` | `notification.image` |
/// | `fcm_options.analytics_label` | `fcm_options.analytics_label` |
/// | other members beside `aps` | `data`: texts as they are, other values as JSON text |
/// | `relevance-score`, `mutable-content`, `filter-criteria` | nothing |
///
/// A push that shows no text, such as a silent one or a badge alone, becomes a message of `data` only, for
/// the app: with `content_available`, `badge` and `sound`. With `android.notification`, Android would show an
/// empty notification. Names that FCM reserves in `data` get a `_` in
/// front.
///
/// Google: *REST Resource: projects.messages*.
package struct FCMMessage: Equatable, Sendable {
    /// The largest number of bytes of a message without its token. FCM states the limit for the payload; to
    /// count everything is on the safe side.
    package static let limit = 4096

    /// Whether the text was cut to make the message fit.
    package let isShortened: Bool
    /// The text after `"ttl":"…"` in `android`, with its braces, and the message's other members.
    private let rest: [UInt8]
    /// The time to live that overrides the push's.
    private let ownLife: JSONValue?
    private let expires: Timestamp?

    /// Makes a message of a push. If it is too long, its text is cut between two characters and ends with
    /// `…`.
    ///
    /// - Parameters:
    ///   - id: the notification's id. It is the tag if there is no collapse id, so that a repetition after a
    ///     lost answer replaces the first one on the screen.
    ///   - expires: the moment until which FCM keeps it for a device that is offline.
    ///   - overrides: members of `android` that are merged over those that are made; `null` removes one.
    /// - Throws: a refusal whose cause is `PayloadTooLarge`, or `UnsupportedPushType` for a push that is only
    ///   for Apple's devices.
    package init(
        _ content: PushContent, id: String, expires: Timestamp, overrides: JSONObject? = nil
    ) throws(Failure) {
        guard content.type == .alert || content.type == .background else {
            throw Failure(
                .refused(.malformed), "FCM has no \(content.type.rawValue) pushes",
                cause: "UnsupportedPushType")
        }
        func made(_ payload: Payload) -> (android: JSONObject, others: JSONObject) {
            var content = content
            content.payload = payload
            let members = FCMMembers(content, id: id)
            return (members.android.merged(with: overrides ?? [:]), members.others)
        }
        func size(_ payload: Payload) -> Int {
            let (android, others) = made(payload)
            // `"message":{…}` and the longest ttl that we write.
            return JSON.text(.object(others)).count + JSON.text(.object(android)).count + 40
        }
        let whole = content.payload
        guard let fitting = whole.cut(to: Self.limit, size: size) else {
            throw Failure(
                .refused(.tooLarge),
                "the message has \(size(whole)) bytes for FCM; the limit is \(Self.limit)",
                cause: "PayloadTooLarge")
        }
        isShortened = fitting != whole
        self.expires = content.isKept ? expires : nil
        var (android, others) = made(fitting)
        ownLife = android["ttl"]
        android["ttl"] = nil
        let inner = JSON.text(.object(android)).dropFirst()
        let comma: [UInt8] = android.members.isEmpty ? [] : [UInt8(ascii: ",")]
        var rest = comma + inner
        if !others.members.isEmpty {
            rest += [UInt8(ascii: ",")] + JSON.text(.object(others)).dropFirst().dropLast()
        }
        self.rest = rest + Array("}}".utf8)
    }

    /// The request's body for one device.
    package func body(to token: DeviceToken, now: Timestamp) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(rest.count + token.text.utf8.count + 80)
        body += Self.start
        body += JSON.text(.string(token.text))
        body += Self.middle
        body += JSON.text(ownLife ?? .string(life(at: now)))
        body += rest
        return body
    }

    private static let start = Array(#"{"message":{"token":"#.utf8)
    private static let middle = Array(#","android":{"ttl":"#.utf8)

    /// `android.ttl`: whole seconds, at most 28 days.
    private func life(at now: Timestamp) -> String {
        let left = expires.map { ($0 - now).seconds } ?? 0
        return "\(min(max(left, 0), 2_419_200))s"
    }
}
