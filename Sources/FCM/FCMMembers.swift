import JSON
import Turnstone

/// The members of a message, by the table of ``FCMMessage``.
struct FCMMembers {
    /// `android`, without its time to live.
    private(set) var android = JSONObject()
    /// The other members beside `token`.
    private(set) var others = JSONObject()

    private let aps: JSONObject
    private let alert: JSONObject

    init(_ content: PushContent, id: String) {
        aps = content.payload.aps
        let text = aps["alert"]?.string
        alert = text.map { ["body": .string($0)] } ?? aps["alert"]?.object ?? [:]
        let image = Self.image(content.payload)
        let tag = content.collapseID ?? id
        android["collapse_key"] = content.collapseID.map { .string($0) }
        android["priority"] = .string(priority(content.priority))
        var notification = shownTexts
        let shows =
            !notification.members.isEmpty || alert["title-loc-key"] != nil
            || alert["loc-key"] != nil
        if shows {
            notification["image"] = image.map { .string($0) }
            if !notification.members.isEmpty { others["notification"] = .object(notification) }
            android["notification"] = .object(androidNotification(tag: tag))
        }
        let data = self.data(of: content.payload, isShown: shows)
        if !data.members.isEmpty { others["data"] = .object(data) }
        others["fcm_options"] = Self.options(content.payload)
    }

    // MARK: What is shown

    private var shownTexts: JSONObject {
        var notification = JSONObject()
        notification["title"] = alert["title"]?.string.map { .string($0) }
        let lines = [alert["subtitle"]?.string, alert["body"]?.string].compactMap { $0 }
            .filter { !$0.isEmpty }
        if !lines.isEmpty { notification["body"] = .string(lines.joined(separator: "\n")) }
        return notification
    }

    private func androidNotification(tag: String) -> JSONObject {
        var made: JSONObject = ["tag": .string(tag)]
        for (name, source) in [
            ("title_loc_key", "title-loc-key"), ("title_loc_args", "title-loc-args"),
            ("body_loc_key", "loc-key"), ("body_loc_args", "loc-args"),
        ] {
            made[name] = alert[source]
        }
        made["sound"] = sound.map { .string($0) }
        made["notification_count"] = badge.map { .integer($0) }
        made["click_action"] = aps["category"]?.string.map { .string($0) }
        made["notification_priority"] = level.map { .string($0) }
        return made
    }

    private var sound: String? { aps["sound"]?.string ?? aps["sound"]?.object?["name"]?.string }

    /// FCM takes 32 bits.
    private var badge: Int64? { aps["badge"]?.integer.map { min(max($0, 0), Int64(Int32.max)) } }

    /// `notification_priority`: how prominently Android shows it.
    private var level: String? {
        switch aps["interruption-level"]?.string {
        case "passive": "PRIORITY_LOW"
        case "active": "PRIORITY_DEFAULT"
        case "time-sensitive": "PRIORITY_HIGH"
        case "critical": "PRIORITY_MAX"
        default: nil
        }
    }

    /// `android.priority`: HIGH wakes the device.
    private func priority(_ apns: Int) -> String {
        switch aps["interruption-level"]?.string {
        case "passive": "NORMAL"
        case "time-sensitive", "critical": "HIGH"
        default: apns == 10 ? "HIGH" : "NORMAL"
        }
    }

    // MARK: What the app gets

    /// `data`, a map of texts.
    private func data(of payload: Payload, isShown: Bool) -> JSONObject {
        var data = JSONObject()
        let image = Self.image(payload)
        for member in payload.members.members where member.name != "aps" {
            if member.name == "fcm_options" { continue }
            if isShown, member.name == "image", member.value.string == image { continue }
            var name = member.name
            if PushOverrides.isReservedInData(name) { name = "_" + name }
            // The app may have a member of that name, too.
            while data[name] != nil || name != member.name && payload[name] != nil {
                name = "_" + name
            }
            data.append(name, .string(text(member.value)))
        }
        var more = [
            ("thread_id", aps["thread-id"]), ("target_content_id", aps["target-content-id"]),
        ]
        if !isShown {
            more += [
                ("content_available", aps["content-available"]), ("badge", aps["badge"]),
                ("sound", sound.map { .string($0) }),
            ]
        }
        for (name, value) in more where data[name] == nil {
            data[name] = value.map { .string(text($0)) }
        }
        return data
    }

    private static func image(_ payload: Payload) -> String? {
        let texts = [payload["image"], payload["fcm_options"]?.object?["image"]]
        return texts.compactMap { $0?.string }.first(where: PushOverrides.isImageAddress)
    }

    private static func options(_ payload: Payload) -> JSONValue? {
        guard let label = payload["fcm_options"]?.object?["analytics_label"]?.string,
            (1...50).contains(label.utf8.count), label.utf8.allSatisfy(isLabelByte)
        else { return nil }
        return ["analytics_label": .string(label)]
    }
}

/// Texts as they are, other values as JSON text.
private func text(_ value: JSONValue) -> String {
    value.string ?? String(decoding: JSON.text(value), as: UTF8.self)
}

/// Google: `^[a-zA-Z0-9-_.~%]{1,50}$`.
private func isLabelByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "%"):
        true
    default: false
    }
}
