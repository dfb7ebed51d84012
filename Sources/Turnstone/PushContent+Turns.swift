extension PushContent {
    /// A turn notice.
    package init(_ notice: TurnNotice) {
        self.init(
            type: .alert, priority: 10, collapseID: notice.collapseID, payload: notice.payload)
    }

    /// Removes the names of players and games from a turn notice.
    ///
    /// - Returns: whether there were any.
    package mutating func eraseNames() -> Bool {
        guard var alert = payload.aps["alert"]?.object, let game = payload["game_id"]?.integer
        else { return false }
        let before = payload
        alert["subtitle"] = nil
        if let name = payload["game_name"]?.string, let body = alert["body"]?.string {
            let isNamed = body.utf8.suffix(name.utf8.count).elementsEqual(name.utf8)
            if isNamed { alert["body"] = .string(body.dropLast(name.count) + "game \(game)") }
        }
        payload.aps["alert"] = .object(alert)
        payload["game_name"] = .string("game \(game)")
        return payload != before
    }
}
