extension PushOverrides {
    /// Checks the names and types of the members, as far as they are known before a push is sent.
    ///
    /// - Parameters:
    ///   - type: the push's type.
    ///   - alert: what the push shows where nothing is overridden.
    /// - Throws: malformed or unacceptable, with the path of the member that is wrong.
    package func check(for type: PushType, alert: JSONObject = [:]) throws(Failure) {
        if let apns { try Self.checkAPNs(apns, type) }
        if let android { try Self.checkAndroid(android, alert) }
        if let web { try WebNotification.check(web) }
    }

    private typealias Rules = [(name: String, rule: OverrideRule)]

    private static func check(
        _ members: JSONObject, _ path: String, _ rules: Rules, choices: [(String, [String])] = []
    ) throws(Failure) {
        for member in members.members {
            let place = "\(path).\(member.name)"
            if let (_, names) = choices.first(where: { $0.0 == member.name }) {
                guard
                    member.value == .null || names.contains(where: { .string($0) == member.value })
                else {
                    throw .malformed("\(place) must be one of \(names.joined(separator: ", "))")
                }
                continue
            }
            guard let rule = rules.first(where: { $0.name == member.name })?.rule else {
                let names = rules.map { $0.name } + choices.map { $0.0 }
                throw .malformed(
                    "\(place) is unknown: it must be one of \(names.joined(separator: ", "))")
            }
            guard member.value == .null || rule.accepts(member.value) else {
                throw .malformed("\(place) must be \(rule.rawValue)")
            }
        }
    }

    // MARK: APNs

    /// Apple: *Generating a remote notification*.
    private static func checkAPNs(_ members: JSONObject, _ type: PushType) throws(Failure) {
        guard let value = members["aps"] else { return }
        guard let aps = value.object else { throw .malformed("apns.aps must be an object") }
        guard aps["badge"] == nil else {
            throw .unacceptable(
                "apns.aps.badge is not allowed: use badge, which is each user's own")
        }
        try check(
            aps, "apns.aps",
            [
                ("alert", .alert), ("sound", .alert), ("thread-id", .text), ("category", .text),
                ("content-available", .bit), ("mutable-content", .bit),
                ("target-content-id", .text), ("relevance-score", .number),
                ("filter-criteria", .text), ("content-changed", .flag),
            ],
            choices: [
                ("interruption-level", ["passive", "active", "time-sensitive", "critical"])
            ])
        if let alert = aps["alert"]?.object { try check(alert, "apns.aps.alert", alertRules) }
        if let sound = aps["sound"]?.object {
            try check(
                sound, "apns.aps.sound",
                [("critical", .bit), ("name", .text), ("volume", .fraction)])
            guard sound["name"]?.string?.utf8.isEmpty == false else {
                throw .malformed("apns.aps.sound.name is required")
            }
        }
        guard type == .background else { return }
        // Apple: *Pushing background updates to your App*.
        if let shown = aps.members.first(where: { $0.value != .null && $0.name != contentAvailable }
        ) {
            throw .unacceptable(
                "with push_type background, apns.aps.\(shown.name) is not allowed")
        }
        guard aps[contentAvailable] == nil || aps[contentAvailable]?.integer == 1 else {
            throw .unacceptable("with push_type background, apns.aps.content-available must be 1")
        }
    }

    private static let contentAvailable = "content-available"

    private static let alertRules: Rules = [
        ("title", .text), ("subtitle", .text), ("body", .text), ("launch-image", .text),
        ("title-loc-key", .text), ("title-loc-args", .texts), ("subtitle-loc-key", .text),
        ("subtitle-loc-args", .texts), ("loc-key", .text), ("loc-args", .texts),
        // For systems before iOS 15.
        ("summary-arg", .text), ("summary-arg-count", .number), ("action-loc-key", .text),
    ]

    /// Checks a Live Activity's alert: its title and its body may be `{"loc-key", "loc-args"}`.
    ///
    /// Apple: *Starting and updating Live Activities with ActivityKit push notifications*.
    ///
    /// - Throws: malformed, with the path of the member that is wrong.
    package static func checkActivityAlert(_ alert: JSONObject) throws(Failure) {
        var texts = alert
        for name in ["title", "body"] {
            guard let local = alert[name]?.object else { continue }
            try check(local, "alert.\(name)", [("loc-key", .text), ("loc-args", .texts)])
            guard local["loc-key"]?.string?.utf8.isEmpty == false else {
                throw .malformed("alert.\(name).loc-key is required")
            }
            texts[name] = nil
        }
        try check(texts, "alert", alertRules + [("sound", .text)])
    }

    // MARK: FCM

    /// Google: *REST Resource: projects.messages*, AndroidConfig and AndroidNotification.
    private static func checkAndroid(
        _ members: JSONObject, _ alert: JSONObject
    ) throws(Failure) {
        try check(
            members, "android",
            [
                ("collapse_key", .text), ("ttl", .timeToLive), ("restricted_package_name", .text),
                ("data", .map), ("notification", .object), ("fcm_options", .object),
                ("direct_boot_ok", .flag), ("bandwidth_constrained_ok", .flag),
                ("restricted_satellite_ok", .flag),
            ], choices: [("priority", ["NORMAL", "HIGH", "normal", "high"])])
        for member in members["data"]?.object?.members ?? []
        where isReservedInData(member.name) {
            throw .unacceptable(
                "android.data.\(member.name) is not allowed: FCM reserves from, message_type, collapse_key, notification and names that begin with google or gcm"
            )
        }
        if let options = members["fcm_options"]?.object {
            try check(options, "android.fcm_options", [analyticsLabel])
        }
        if let notification = members["notification"]?.object {
            try checkAndroidNotification(notification, "android.notification")
            for (text, source) in [("title", "title-loc"), ("body", "loc")] {
                let (key, arguments) = ("\(text)_loc_key", "\(text)_loc_args")
                let used = (
                    key: notification[key] ?? alert["\(source)-key"] ?? .null,
                    arguments: notification[arguments] ?? alert["\(source)-args"] ?? .null
                )
                guard used.key != .null || used.arguments == .null else {
                    throw .malformed(
                        "android.notification.\(arguments) requires \(key)")
                }
            }
        }
    }

    /// Checks what a message's data says to FCM's own library.
    ///
    /// Google: *REST Resource: projects.messages*, FcmOptions; *Send an image in the notification payload*.
    package static func checkFCMOptions(in data: JSONObject) throws(Failure) {
        guard let value = data[fcmOptions], value != .null else { return }
        guard let options = value.object else {
            throw .malformed("data.\(fcmOptions) must be an object")
        }
        try check(options, "data.\(fcmOptions)", [analyticsLabel, ("image", .url)])
    }

    private static let fcmOptions = "fcm_options"
    private static let analyticsLabel = ("analytics_label", OverrideRule.label)

    private static func checkAndroidNotification(
        _ members: JSONObject, _ path: String
    ) throws(Failure) {
        try check(
            members, path,
            [
                ("title", .text), ("body", .text), ("icon", .text), ("color", .color),
                ("sound", .text), ("tag", .text), ("click_action", .text),
                ("body_loc_key", .text), ("body_loc_args", .texts), ("title_loc_key", .text),
                ("title_loc_args", .texts), ("channel_id", .text), ("ticker", .text),
                ("sticky", .flag), ("event_time", .moment), ("local_only", .flag),
                ("default_sound", .flag), ("default_vibrate_timings", .flag),
                ("default_light_settings", .flag), ("vibrate_timings", .allSeconds),
                ("notification_count", .count), ("light_settings", .object), ("image", .url),
                ("bypass_proxy_notification", .flag),
            ],
            choices: [
                (
                    "notification_priority",
                    [
                        "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW",
                        "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
                    ]
                ),
                ("visibility", ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
                ("proxy", ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
            ])
        if let light = members["light_settings"]?.object {
            let path = "\(path).light_settings"
            try check(
                light, path,
                [
                    ("color", .object), ("light_on_duration", .seconds),
                    ("light_off_duration", .seconds),
                ])
            if let color = light["color"]?.object {
                try check(
                    color, "\(path).color",
                    [("red", .number), ("green", .number), ("blue", .number), ("alpha", .number)])
            }
        }
    }

    /// Whether FCM takes a text for a picture's address.
    package static func isImageAddress(_ text: String) -> Bool {
        OverrideRule.url.accepts(.string(text))
    }

    /// Whether FCM refuses a name in `data`, replaces its value, or Android's library takes it for its own.
    ///
    /// Google: *REST Resource: projects.messages*, `data`.
    package static func isReservedInData(_ name: String) -> Bool {
        let lower = lowercase(Array(name.utf8)[...])
        return ["from", "message_type", "collapse_key", "notification"].contains {
            lower.elementsEqual($0.utf8)
        } || lower.starts(with: "google".utf8) || lower.starts(with: "gcm".utf8)
    }
}
