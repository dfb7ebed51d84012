import Edge
import Messages
import Turnstone

/// The content of a notification: OneSignal's members as those of `POST /api/notify`.
struct NotificationContent {
    private var message = JSONObject()
    private var data = JSONObject()
    private var apns = JSONObject()
    private var android = JSONObject()
    private var androidNotification = JSONObject()
    private var web = JSONObject()
    /// The member that has browsers' links, and those that have pictures and buttons.
    private var linkName = "url"
    private var pictureNames = (android: "big_picture", web: "chrome_web_image")
    private var buttonsName = "buttons"

    /// The members of a message for `Message`.
    var members: JSONObject {
        var members = message
        members["data"] = data.members.isEmpty ? nil : .object(data)
        members["apns"] = apns.members.isEmpty ? nil : .object(apns)
        var android = android
        android["notification"] =
            androidNotification.members.isEmpty ? nil : .object(androidNotification)
        members["android"] = android.members.isEmpty ? nil : .object(android)
        members["web"] = web.members.isEmpty ? nil : .object(web)
        return members
    }

    init(_ fields: inout Fields) throws(Failure) {
        let isSilent = try fields.boolean("content_available") ?? false
        let body = try fields.languages("contents")
        guard body != nil || isSilent else {
            throw .malformed("Message Notifications must have English language content")
        }
        message["content_available"] = isSilent ? true : nil
        message["body"] = body
        message["title"] = try fields.languages("headings")
        message["subtitle"] = try fields.languages("subtitle")
        data = try fields.object("data") ?? [:]
        try takeBadge(&fields)
        try takeSounds(&fields, isShown: body != nil)
        try takeApple(&fields)
        try takeAndroid(&fields)
        let address = try takeAddresses(&fields)
        try takePictures(&fields, isShown: body != nil)
        try takeButtons(&fields, address)
        try takeDelivery(&fields)
    }

    private mutating func takeBadge(_ fields: inout Fields) throws(Failure) {
        let type = try fields.optionalText("ios_badgeType") ?? "None"
        let count = try fields.wholeNumber("ios_badgeCount")
        switch type {
        case "None": break
        case "SetTo", "Increase":
            guard let count else {
                throw .malformed("ios_badgeType \(type) requires ios_badgeCount")
            }
            let isChange = type == "Increase"
            message["badge"] =
                isChange ? .string(count < 0 ? "\(count)" : "+\(count)") : .integer(count)
        default: throw .malformed("ios_badgeType must be None, SetTo or Increase")
        }
    }

    /// OneSignal plays the default sound unless a request says otherwise; `nil` is its word for silence.
    private mutating func takeSounds(_ fields: inout Fields, isShown: Bool) throws(Failure) {
        let apple = try fields.optionalText("ios_sound") ?? (isShown ? "default" : "nil")
        if apple != "nil" { message["sound"] = .string(apple) }
        guard let sound = try fields.optionalText("android_sound") else { return }
        androidNotification["sound"] = sound == "nil" ? .null : .string(sound)
    }

    private mutating func takeApple(_ fields: inout Fields) throws(Failure) {
        message["mutable_content"] = try fields.boolean("mutable_content").map { .bool($0) }
        message["category"] = try fields.optionalText("ios_category").map { .string($0) }
        message["thread_id"] = try fields.optionalText("thread_id").map { .string($0) }
        message["target_content_id"] = try fields.optionalText("target_content_identifier").map {
            .string($0)
        }
        message["relevance_score"] = fields.take("ios_relevance_score")
        message["interruption_level"] = try fields.optionalText("ios_interruption_level").map {
            .string($0 == "time_sensitive" ? "time-sensitive" : $0)
        }
        if let type = try fields.optionalText("apns_push_type_override") {
            // A device that refuses a push because of its type would get no more messages.
            throw unsupported(
                "apns_push_type_override \(type)",
                "send it with push_type of /api/notify to devices with tokens of that kind")
        }
        if let alert = try fields.object("apns_alert") {
            for member in alert.members {
                guard let text = member.value.string else { continue }
                try fields.refuseLiquid(in: text, of: "apns_alert.\(member.name)")
            }
            apns["aps"] = ["alert": .object(alert)]
        }
    }

    private mutating func takeAndroid(_ fields: inout Fields) throws(Failure) {
        let channel = try fields.optionalText("android_channel_id")
        let existing = try fields.optionalText("existing_android_channel_id")
        androidNotification["channel_id"] = (existing ?? channel).map { .string($0) }
        androidNotification["icon"] = try fields.optionalText("small_icon").map { .string($0) }
        if let color = try fields.optionalText("android_accent_color") {
            let digits =
                color.utf8.first == UInt8(ascii: "#") ? color.utf8.dropFirst() : color.utf8[...]
            // ARGB; a notification's color has no transparency.
            let shown = Array(digits.count == 8 ? digits.dropFirst(2) : digits)
            androidNotification["color"] = .string(
                "#" + String(decoding: shown, as: UTF8.self))
        }
        switch try fields.wholeNumber("android_visibility") {
        case nil: break
        case 1: androidNotification["visibility"] = "PUBLIC"
        case 0: androidNotification["visibility"] = "PRIVATE"
        case -1: androidNotification["visibility"] = "SECRET"
        default: throw .malformed("android_visibility must be 1, 0 or -1")
        }
    }

    /// Takes where a click leads: `url`, or one for apps and one for browsers. An app opens any address, a
    /// browser only https ones.
    ///
    /// - Returns: the one for browsers.
    private mutating func takeAddresses(_ fields: inout Fields) throws(Failure) -> String? {
        let both = try fields.filledText("url")
        let apps = try fields.filledText("app_url") ?? both
        let own = try fields.filledText("web_url")
        if own != nil { linkName = "web_url" }
        let browsers = own ?? both.flatMap { WebNotification.isSecureURL($0) ? $0 : nil }
        if let apps, data["url"] == nil { data["url"] = .string(apps) }
        web["navigate"] = browsers.map { .string($0) }
        web["tag"] = try fields.optionalText("web_push_topic").map { .string($0) }
        return browsers
    }

    private mutating func takePictures(_ fields: inout Fields, isShown: Bool) throws(Failure) {
        let all = try fields.filledText("global_image")
        let big = try fields.filledText("big_picture")
        let web = try fields.filledText("chrome_web_image")
        if big == nil { pictureNames.android = "global_image" }
        if web == nil { pictureNames.web = "global_image" }
        androidNotification["image"] = (big ?? all).map { .string($0) }
        self.web["image"] = (web ?? all).map { .string($0) }
        self.web["icon"] = try fields.filledText("chrome_web_icon").map { .string($0) }
        self.web["badge"] = try fields.filledText("chrome_web_badge").map { .string($0) }
        let attachments = try fields.object("ios_attachments") ?? all.map { ["id1": .string($0)] }
        guard let attachments else { return }
        for member in attachments.members {
            guard let address = member.value.string else { continue }
            try fields.refuseLiquid(in: address, of: "ios_attachments.\(member.name)")
        }
        apns["att"] = .object(attachments)
        // Only an extension of the app can show it.
        if isShown { message["mutable_content"] = message["mutable_content"] ?? true }
    }

    /// Apps find `buttons` among the push's data. A browser shows those that lead somewhere.
    private mutating func takeButtons(
        _ fields: inout Fields, _ address: String?
    ) throws(Failure) {
        let buttons = try fields.buttons("buttons")
        let own = try fields.buttons("web_buttons")
        if !buttons.isEmpty {
            guard data["buttons"] == nil else {
                throw .malformed("use either buttons or data.buttons")
            }
            data["buttons"] = .array(buttons.map { .object($0) })
        }
        if !own.isEmpty { buttonsName = "web_buttons" }
        var actions: [JSONValue] = []
        for button in own.isEmpty ? buttons : own {
            guard let place = button["url"]?.string ?? address,
                // An app's button may open any address.
                !own.isEmpty || WebNotification.isSecureURL(place)
            else { continue }
            var action: JSONObject = ["action": button["id"] ?? "", "title": button["text"] ?? ""]
            action["navigate"] = .string(place)
            action["icon"] = own.isEmpty ? nil : button["icon"]
            actions.append(.object(action))
        }
        if !actions.isEmpty { web["actions"] = .array(actions) }
    }

    private mutating func takeDelivery(_ fields: inout Fields) throws(Failure) {
        switch try fields.wholeNumber("priority") {
        case nil: break
        // 10 is high and anything lower is normal.
        case let priority? where (1...10).contains(priority):
            if message["body"] != nil { message["priority"] = priority > 5 ? 10 : 5 }
        default: throw .malformed("priority must be 1 to 10")
        }
        let life = try fields.wholeNumber("ttl") ?? Self.usualLife
        guard (0...2_419_200).contains(life) else {
            throw .malformed("ttl must be 0 to 2419200 seconds")
        }
        message["expires_in"] = .integer(life)
        message["collapse_id"] = try fields.optionalText("collapse_id").map { .string($0) }
        try takeDelayedOption(&fields)
        if let rate = try fields.wholeNumber("throttle_rate_per_minute"), rate != 0 {
            guard rate > 0 else {
                throw .malformed("throttle_rate_per_minute must be a number of notifications, or 0")
            }
            message["throttle_per_minute"] = .integer(rate)
        }
        if let text = try fields.optionalText("send_after") {
            guard let moment = moment(text) else {
                throw .malformed(
                    "send_after must be a moment such as 2026-11-22 23:53:39 GMT+0000")
            }
            message["send_after"] = .integer(max(0, moment.seconds))
        }
    }

    private mutating func takeDelayedOption(_ fields: inout Fields) throws(Failure) {
        let option = try fields.optionalText("delayed_option") ?? "immediate"
        let time = try fields.optionalText("delivery_time_of_day")
        let clock = time.flatMap { timeOfDay($0) }
        guard time == nil || clock != nil else {
            throw .malformed(
                "delivery_time_of_day must be a time such as 9:00AM, 21:45 or 9:45:30")
        }
        switch option {
        case "immediate": break
        case "last-active": message["delayed_option"] = "last-active"
        case "timezone":
            guard let clock else {
                throw .malformed("delayed_option timezone requires delivery_time_of_day")
            }
            message["delayed_option"] = "timezone"
            message["delivery_time_of_day"] = .string(clock)
        default:
            throw .malformed("delayed_option must be immediate, timezone or last-active")
        }
    }

    /// The message.
    ///
    /// - Throws: what is wrong, with OneSignal's names instead of ours.
    func message(at now: Timestamp) throws(Failure) -> Message {
        var fields = Fields(members)
        do throws(Failure) {
            let message = try Message(&fields, kind: "message", now: now)
            try fields.finish()
            return message
        } catch { throw renamed(error) }
    }

    private func renamed(_ failure: Failure) -> Failure {
        // Sentences with our members in the middle.
        if failure.sentence.utf8.starts(with: "web.actions must".utf8) {
            return .malformed(
                "\(buttonsName): text of each must show something, and url and icon be absolute https URLs"
            )
        }
        if failure.sentence.utf8.starts(with: "badge must".utf8) {
            return .malformed(
                "ios_badgeCount must be 0 to 999999, or -999999 to 999999 with ios_badgeType Increase"
            )
        }
        return failure.renamed([
            ("mutable_content requires a title or a body", "mutable_content requires contents"),
            ("body", "contents"), ("title", "headings"), ("badge", "ios_badgeCount"),
            ("sound", "ios_sound"), ("category", "ios_category"),
            ("relevance_score", "ios_relevance_score"),
            ("interruption_level", "ios_interruption_level"),
            ("target_content_id", "target_content_identifier"),
            ("throttle_per_minute", "throttle_rate_per_minute"), ("expires_in", "ttl"),
            ("apns.aps.alert", "apns_alert"), ("apns must not", "apns_alert must not"),
            ("apns, android and web have", "apns_alert and what is for Android and browsers have"),
            ("android.notification.image", pictureNames.android),
            ("android.notification.sound", "android_sound"),
            ("android.notification.channel_id", "android_channel_id"),
            ("android.notification.icon", "small_icon"),
            ("android.notification.color", "android_accent_color"),
            ("web.navigate", linkName), ("web.tag", "web_push_topic"),
            ("web.image", pictureNames.web), ("web.icon", "chrome_web_icon"),
            ("web.badge", "chrome_web_badge"), ("web.actions", buttonsName),
        ])
    }

    /// Three days, in seconds (OneSignal: *Create notification*, `ttl`).
    private static let usualLife: Int64 = 259_200
}

extension Fields {
    /// Reads a list of buttons: `id` and `text`, and `icon` and `url` if they have them.
    fileprivate mutating func buttons(_ name: String) throws(Failure) -> [JSONObject] {
        guard let value = take(name) else { return [] }
        guard let list = value.array else { throw .malformed("\(name) must be an array") }
        var buttons: [JSONObject] = []
        for (place, element) in list.enumerated() {
            guard let members = element.object else {
                throw .malformed("\(name)[\(place)] must be an object")
            }
            var fields = Fields(members, of: "\(name)[\(place)]")
            let text = try fields.requiredText("text")
            try fields.refuseLiquid(in: text, of: "text")
            var button: JSONObject = [
                "id": .string(try fields.requiredText("id")), "text": .string(text),
            ]
            button["icon"] = try fields.optionalText("icon").map { .string($0) }
            button["url"] = try fields.filledText("url").map { .string($0) }
            try fields.finish()
            buttons.append(button)
        }
        return buttons
    }
}
