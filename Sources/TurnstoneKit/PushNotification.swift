import Foundation

/// The content of a push: the `userInfo` of a notification, on any system.
///
/// Nothing in it is trusted to be there or to have the right type. Missing and malformed members are nil.
public struct PushNotification: Hashable, Sendable {
    public let title: String?
    public let subtitle: String?
    public let body: String?
    public let badge: Int?
    public let category: String?
    /// Notifications with the same one belong together.
    public let threadID: String?
    /// All members beside `aps`, as they came.
    public let data: [String: JSONValue]

    /// Reads `UNNotification.request.content.userInfo`, or what
    /// `application(_:didReceiveRemoteNotification:)` gives. A member that is not a JSON value is left out.
    public init(userInfo: [AnyHashable: Any]) {
        var data: [String: JSONValue] = [:]
        for (name, value) in userInfo {
            guard let name = name as? String, let value = JSONValue(value, depth: 1)
            else { continue }
            data[name] = value
        }
        self.init(members: data)
    }

    /// Reads a payload as APNs transports it. Nil where it is not a JSON object, or has a number beyond `Double`, half
    /// a surrogate pair, or more than 64 levels.
    public init?(payload: Data) {
        guard let members = try? JSONDecoder().decode([String: JSONValue].self, from: payload)
        else {
            return nil
        }
        self.init(members: members)
    }

    private init(members: [String: JSONValue]) {
        let aps = members["aps"]?.object ?? [:]
        let alert = aps["alert"]
        title = alert?.object?["title"]?.string
        subtitle = alert?.object?["subtitle"]?.string
        // A text alone is the body.
        body = alert?.string ?? alert?.object?["body"]?.string
        badge = aps["badge"]?.int.flatMap(Int.init(exactly:))
        category = aps["category"]?.string
        threadID = aps["thread-id"]?.string
        data = members.filter { $0.key != "aps" }
    }
}

extension PushNotification {
    /// The game that a turn notice is about. Nil if the push names none, or in another form than a turn
    /// notice's.
    ///
    /// - Parameter site: Online-Go.com, or the site in the installation's `OGS_WEB_URL`.
    public func game(on site: URL = GameLink.site) -> GameLink? {
        if let number = data["game_id"]?.int, let link = GameLink(game: number) { return link }
        return ["app_url", "web_url"].lazy.compactMap { data[$0]?.string }
            .compactMap { GameLink($0, on: site) }.first
    }

    /// The name of that game; it may be empty.
    public var gameName: String? { data["game_name"]?.string }

    /// The page to open when the notification of a turn is tapped. It is on `site` and nowhere else, whatever
    /// the push says. Nil if the push is not about a turn.
    public func pageToOpen(on site: URL = GameLink.site) -> URL? {
        guard data["action"]?.string == "open_game" else { return nil }
        // A notice of several games leads to a page of the site that is not a game's.
        if let text = data["web_url"]?.string, let url = URL(string: text), url.isAt(site) {
            return url
        }
        return game(on: site)?.webURL(on: site)
    }
}
