import JSON
import Turnstone

/// Checks a decrypted message as strictly as Safari, which shows nothing if a member has the wrong type.
///
/// W3C *Push API*, section 3.3 (declarative push messages).
enum WebMessageCheck {
    static func check(_ text: [UInt8]) throws(PushRefusal) -> JSONValue {
        let message: JSONValue
        do throws(JSONError) { message = try JSON.parse(text) } catch {
            throw bad("it is not JSON, line \(error.line) column \(error.column)")
        }
        guard let members = message.object else { throw bad("it is not an object") }
        guard members["web_push"] == 8030 else { throw bad("web_push is not 8030") }
        for member in members.members {
            switch member.name {
            case "web_push", "notification": break
            case "app_badge":
                guard isCount(member.value) else { throw bad("app_badge is not a number") }
            case "mutable":
                guard member.value.bool != nil else { throw bad("mutable is not true or false") }
            default: throw bad("it has no member \(member.name)")
            }
        }
        guard let notification = members["notification"]?.object else {
            throw bad("notification is not an object")
        }
        guard notification["app_badge"] == members["app_badge"] else {
            throw bad("app_badge differs inside and outside")
        }
        for name in ["title", "navigate"] where notification[name] == nil {
            throw bad("notification has no \(name)")
        }
        for member in notification.members {
            guard let rule = rules[member.name] else {
                throw bad("notification has no member \(member.name)")
            }
            guard rule(member.value) else { throw bad("\(member.name) is of the wrong kind") }
        }
        // Notifications API, *create a notification with a settings object*: a TypeError.
        if notification["silent"] == true, notification["vibrate"] != nil {
            throw bad("it is silent, and vibrates")
        }
        if notification["renotify"] == true, notification["tag"]?.string?.isEmpty != false {
            throw bad("renotify needs a tag")
        }
        return message
    }

    private static func bad(_ detail: String) -> PushRefusal {
        PushRefusal(400, "BadPayload", detail)
    }

    private typealias Rule = @Sendable (JSONValue) -> Bool

    private static let isText: Rule = { $0.string != nil }
    private static let isFlag: Rule = { $0.bool != nil }
    private static let isCount: Rule = { ($0.integer ?? -1) >= 0 }
    private static let isVisibleText: Rule = { $0.string?.isEmpty == false }
    private static let isURL: Rule = { value in
        ["https://", "http://"].contains { scheme in
            value.string.map {
                $0.lowercased().hasPrefix(scheme) && $0.count > scheme.count
            } == true
        }
    }

    private static let rules: [String: Rule] = [
        "title": isVisibleText, "body": isText, "navigate": isURL, "lang": isText,
        "dir": { ["auto", "ltr", "rtl"].contains($0.string ?? "") },
        "tag": isText, "icon": isURL, "image": isURL, "badge": isURL, "silent": isFlag,
        "renotify": isFlag, "requireInteraction": isFlag, "timestamp": isCount,
        "vibrate": { $0.array?.allSatisfy(isCount) == true },
        "data": { _ in true }, "app_badge": isCount, "mutable": isFlag,
        "actions": { $0.array?.allSatisfy(isAction) == true },
    ]

    private static let isAction: Rule = { value in
        guard let members = value.object else { return false }
        return isVisibleText(members["action"] ?? .null)
            && isVisibleText(members["title"] ?? .null) && isURL(members["navigate"] ?? .null)
    }
}
