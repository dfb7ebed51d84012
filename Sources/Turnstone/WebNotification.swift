/// The members of a declarative Web Push notification (W3C *Push API*, section 3.3, and *Notifications API*,
/// NotificationOptions).
///
/// Safari shows nothing at all if one member has the wrong type, so they are checked before they are sent.
package enum WebNotification {
    /// Checks the members that a request's object `web` sets. `null` takes a member away.
    ///
    /// - Parameter name: what sentences call the object.
    /// - Throws: malformed or unacceptable, with the name of the member.
    package static func check(_ members: JSONObject, name: String = "web") throws(Failure) {
        for member in members.members {
            let place = "\(name).\(member.name)"
            guard let rule = rules.first(where: { $0.name == member.name }) else {
                throw .malformed("\(place) is unknown: it must be one of \(names)")
            }
            guard member.value != .null else { continue }
            guard rule.kind.accepts(member.value) else {
                throw .malformed("\(place) must be \(rule.kind.rawValue)")
            }
        }
        if members["silent"] == true, let vibrate = members["vibrate"], vibrate != .null {
            throw .malformed("\(name) must not have vibrate if it is silent")
        }
    }

    /// Whether a text is an absolute https URL; it may have a fragment.
    package static func isSecureURL(_ text: String) -> Bool {
        let address = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard text.utf8.count <= PushEndpoint.limit,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { return false }
        do throws(PushEndpoint.Fault) {
            _ = try PushEndpoint(String(decoding: Array(address), as: UTF8.self))
            return true
        } catch { return false }
    }

    private enum Kind: String {
        case title = "a text that shows something"
        case text = "a string"
        case flag = "true or false"
        case url = "an absolute https URL"
        case direction = "auto, ltr or rtl"
        case number = "a whole number from 0 on"
        case numbers = "an array of whole numbers from 0 on"
        case actions =
            "an array of objects with action and title (strings) and navigate (an absolute https URL)"
        case anything = "any value"

        func accepts(_ value: JSONValue) -> Bool {
            switch self {
            case .title: value.string?.isVisible == true
            case .text: value.string != nil
            case .flag: value.bool != nil
            case .url: value.string.map { isSecureURL($0) } == true
            case .direction: ["auto", "ltr", "rtl"].contains { .string($0) == value }
            case .number: (value.integer ?? -1) >= 0
            case .numbers: value.array?.allSatisfy { ($0.integer ?? -1) >= 0 } == true
            case .actions: value.array?.allSatisfy { isAction($0) } == true
            case .anything: true
            }
        }

        private func isAction(_ value: JSONValue) -> Bool {
            guard let members = value.object else { return false }
            let isComplete = ["action", "title", "navigate"].allSatisfy { members[$0] != nil }
            return isComplete
                && members.members.allSatisfy { member in
                    switch member.name {
                    case "action": member.value.string?.isEmpty == false
                    case "title": Kind.title.accepts(member.value)
                    case "navigate", "icon": Kind.url.accepts(member.value)
                    default: false
                    }
                }
        }
    }

    private static var rules: [(name: String, kind: Kind)] {
        [
            ("title", .title), ("body", .text), ("navigate", .url), ("lang", .text),
            ("dir", .direction), ("tag", .text), ("icon", .url), ("image", .url),
            ("badge", .url), ("silent", .flag), ("renotify", .flag),
            ("requireInteraction", .flag), ("timestamp", .number), ("vibrate", .numbers),
            ("data", .anything), ("actions", .actions), ("app_badge", .number),
            ("mutable", .flag),
        ]
    }

    private static var names: String {
        rules.map { $0.name }.joined(separator: ", ")
    }
}
