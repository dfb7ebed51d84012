import Turnstone

extension PushContent {
    /// A turn notice.
    package init(_ notice: TurnNotice) {
        self.init(
            type: "alert", priority: 10, collapseID: notice.collapseID, payload: notice.payload)
    }

    /// Takes the names of players and games out of a turn notice.
    ///
    /// - Returns: whether there were any.
    mutating func eraseNames() -> Bool {
        guard var members = payload.object, var aps = members["aps"]?.object,
            var alert = aps["alert"]?.object, let game = members["game_id"]?.integer
        else { return false }
        let before = payload
        alert["subtitle"] = nil
        if let name = members["game_name"]?.string, let body = alert["body"]?.string {
            let isNamed = body.utf8.suffix(name.utf8.count).elementsEqual(name.utf8)
            if isNamed { alert["body"] = .string(body.dropLast(name.count) + "game \(game)") }
        }
        aps["alert"] = .object(alert)
        members["aps"] = .object(aps)
        members["game_name"] = .string("game \(game)")
        payload = .object(members)
        return payload != before
    }

    /// A number on the app's icon, and nothing else: iOS changes the icon, and does not wake the app for it.
    package init(badge: Int64, collapseID: String) {
        self.init(
            type: "alert", priority: 5, collapseID: collapseID,
            payload: ["aps": ["badge": .integer(badge)]])
    }

    /// Whether neither mute nor quiet hours hold it: it shows nothing, or what cannot wait.
    package var isExempt: Bool {
        Preferences.isExempt(pushType: type, aps: payload.object?["aps"]?.object ?? [:])
    }
}
