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
        guard var alert = payload.alert, let game = payload["game_id"]?.integer
        else { return false }
        let before = payload
        alert["subtitle"] = nil
        if let name = payload["game_name"]?.string, let body = alert["body"]?.string {
            alert["body"] = .string(body.replacingLast(name, by: "game \(game)"))
        }
        payload.alert = alert
        payload["game_name"] = .string("game \(game)")
        return payload != before
    }
}

extension String {
    /// Replaces the last occurrence of a text, which each language has at another place.
    fileprivate func replacingLast(_ text: String, by other: String) -> String {
        let bytes = Array(utf8)
        let wanted = Array(text.utf8)
        guard !wanted.isEmpty, bytes.count >= wanted.count else { return self }
        for start in (0...(bytes.count - wanted.count)).reversed()
        where bytes[start..<(start + wanted.count)].elementsEqual(wanted) {
            let rest = bytes[(start + wanted.count)...]
            return String(decoding: bytes[..<start] + Array(other.utf8) + rest, as: UTF8.self)
        }
        return self
    }
}
