import JSON
import Turnstone

/// Checks a request's body as strictly as Google documents it: unknown members and wrong types are refused.
///
/// Google: *REST Resource: projects.messages*.
enum FCMMessageCheck {
    /// Bytes of a message without its token.
    static let limit = 4096

    struct Message {
        let token: String
        let members: JSONObject
        let isOnlyValidated: Bool
    }

    static func check(_ body: [UInt8], length: Int) throws(FCMRefusal) -> Message {
        let json: JSONValue?
        do throws(JSONError) { json = try JSON.parse(body) } catch { json = nil }
        guard length == body.count, let request = json?.object else {
            throw FCMRefusal(400, "INVALID_ARGUMENT", "the body is not a JSON object")
        }
        try checkObject(.object(request), "", ["message": any, "validate_only": bool])
        guard let message = request["message"] else { throw .invalid("message", "is missing") }
        try checkObject(message, "message", rules)
        let members = message.object ?? [:]
        guard let token = members["token"]?.string else {
            throw .invalid("message", "has no token: this app sends to devices only")
        }
        guard (1...4096).contains(token.utf8.count),
            token.utf8.allSatisfy({ (33...126).contains($0) })
        else { throw .invalid("message.token", "is not a valid FCM registration token") }
        var rest = members
        rest["token"] = nil
        let size = JSON.text(.object(rest)).count
        guard size <= limit else {
            throw .invalid("message", "has \(size) bytes without its token, and at most \(limit)")
        }
        return Message(
            token: token, members: members, isOnlyValidated: request["validate_only"] == true)
    }

    // MARK: Rules

    private typealias Rule = @Sendable (JSONValue, _ field: String) throws(FCMRefusal) -> Void

    private static let any: Rule = { (_, _) throws(FCMRefusal) in }

    private static func checkObject(
        _ value: JSONValue, _ field: String, _ rules: [String: Rule]
    ) throws(FCMRefusal) {
        guard let members = value.object?.members else { throw .invalid(field, "is not an object") }
        for member in members {
            let name = field.isEmpty ? member.name : "\(field).\(member.name)"
            guard let rule = rules[member.name] else { throw .invalid(name, "is unknown") }
            try rule(member.value, name)
        }
    }

    private static func object(_ rules: [String: Rule]) -> Rule {
        { (value, field) throws(FCMRefusal) in try checkObject(value, field, rules) }
    }

    private static func rule(
        _ demand: String, _ isGood: @escaping @Sendable (JSONValue) -> Bool
    ) -> Rule {
        { (value, field) throws(FCMRefusal) in
            guard isGood(value) else { throw .invalid(field, demand) }
        }
    }

    private static func choice(_ names: [String]) -> Rule {
        rule("must be one of \(names.joined(separator: ", "))") {
            // Google accepts enumerations in lower case too, which its own libraries send.
            names.contains($0.string?.uppercased() ?? "")
        }
    }

    private static let text = rule("must be a string") { $0.string != nil }
    private static let texts = rule("must be an array of strings") {
        $0.array?.allSatisfy { $0.string != nil } == true
    }
    private static let map = rule("must be an object of strings") {
        $0.object?.members.allSatisfy { $0.value.string != nil } == true
    }
    private static let bool = rule("must be true or false") { $0.bool != nil }
    private static let count = rule("must be an integer from 0 on") {
        (0...Int64(Int32.max)).contains($0.integer ?? -1)
    }
    private static let color = rule("must be #rrggbb") {
        guard let text = $0.string, text.hasPrefix("#"), text.utf8.count == 7 else { return false }
        return text.utf8.dropFirst().allSatisfy { hexValue($0) != nil }
    }
    private static let address = rule("must be an http or https address") {
        $0.string.map { $0.hasPrefix("https://") || $0.hasPrefix("http://") } == true
    }
    private static let label = rule("must be 1 to 50 letters, digits and -_.~%") {
        guard let text = $0.string, (1...50).contains(text.utf8.count) else { return false }
        return text.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "-_.~%".contains($0))
        }
    }
    private static let duration = rule("must be seconds such as 3.5s") {
        seconds($0) != nil
    }
    private static let life = rule("must be 0s to 2419200s") {
        (0...2_419_200).contains(seconds($0) ?? -1)
    }
    private static let moment = rule("must be a time such as 2026-11-21T12:00:00Z") {
        $0.string.map { $0.hasSuffix("Z") && $0.contains("T") } == true
    }

    private static func seconds(_ value: JSONValue) -> Double? {
        guard let text = value.string, text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ (1...9).contains($0.utf8.count) }),
            parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { return nil }
        return Double(text.dropLast())
    }

    /// `data`: texts, without the names that FCM reserves.
    private static let data: Rule = { (value, field) throws(FCMRefusal) in
        try map(value, field)
        for member in value.object?.members ?? [] {
            let name = member.name.lowercased()
            if ["from", "message_type"].contains(name) || name.hasPrefix("google")
                || name.hasPrefix("gcm")
            {
                throw .invalid("\(field).\(member.name)", "is a reserved name")
            }
        }
    }

    private static let options = object(["analytics_label": label])

    private static let notification = object(["title": text, "body": text, "image": address])

    private static let light = object([
        "color": object(["red": any, "green": any, "blue": any, "alpha": any]),
        "light_on_duration": duration, "light_off_duration": duration,
    ])

    private static let androidNotification = object([
        "title": text, "body": text, "icon": text, "color": color, "sound": text, "tag": text,
        "click_action": text, "body_loc_key": text, "body_loc_args": texts,
        "title_loc_key": text, "title_loc_args": texts, "channel_id": text, "ticker": text,
        "sticky": bool, "event_time": moment, "local_only": bool,
        "notification_priority": choice([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
            "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "default_sound": bool, "default_vibrate_timings": bool, "default_light_settings": bool,
        "vibrate_timings": rule("must be an array of seconds such as 3.5s") {
            $0.array?.allSatisfy { seconds($0) != nil } == true
        },
        "visibility": choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notification_count": count, "light_settings": light, "image": address,
        "bypass_proxy_notification": bool,
        "proxy": choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    ])

    private static let android: Rule = { (value, field) throws(FCMRefusal) in
        try object([
            "collapse_key": text, "priority": choice(["NORMAL", "HIGH"]), "ttl": life,
            "restricted_package_name": text, "data": data, "notification": androidNotification,
            "fcm_options": options, "direct_boot_ok": bool, "bandwidth_constrained_ok": bool,
            "restricted_satellite_ok": bool,
        ])(value, field)
        // Arguments need a text to stand in.
        let shown = value.object?["notification"]?.object ?? [:]
        for name in ["title", "body"]
        where shown["\(name)_loc_args"] != nil && shown["\(name)_loc_key"] == nil {
            throw .invalid("\(field).notification.\(name)_loc_args", "has no key")
        }
    }

    private static let rules: [String: Rule] = [
        "token": text, "data": data, "notification": notification, "android": android,
        "fcm_options": options,
        "apns": object(["headers": map, "payload": any, "fcm_options": any]),
        "webpush": object([
            "headers": map, "data": data, "notification": any, "fcm_options": any,
        ]),
    ]
}
