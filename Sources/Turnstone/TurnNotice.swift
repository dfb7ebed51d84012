/// The notification that tells a player about all new turns that a check found.
package struct TurnNotice: Equatable, Sendable {
    package let title: String
    /// For a single game: the opponent and how far the game is.
    package let subtitle: String?
    package let body: String
    /// All games waiting, not only the new ones.
    package let badge: Int
    /// The game that a tap opens: the one with the latest move.
    package let game: Int64
    /// Its name without control characters, at most 256 bytes, never empty.
    package let gameName: String
    /// The same for all of an account's turn notices, so that the newest replaces the others on the screen.
    ///
    /// Two accounts on one phone have different ones. At most 64 bytes, the limit of `apns-collapse-id`.
    package let collapseID: String
    /// When the notice is no longer worth delivering: when the last of its games runs out of time, but
    /// between an hour and 30 days from now. A game without a limit counts as 30 days.
    package let expiration: Timestamp
    private let site: SiteAddress

    /// - Parameters:
    ///   - games: the games to name.
    ///   - texts: in the player's language.
    ///   - site: the site of the games' pages.
    ///   - environment: the value of `ENVIRONMENT`: if empty or `none`, nothing is put before the text.
    /// - Returns: `nil` without a game to name.
    package init?(
        new games: [Game], badge: Int, player: PlayerID, site: SiteAddress, environment: String?,
        texts: TurnTexts = .english, now: Timestamp
    ) {
        guard var newest = games.first else { return nil }
        for game in games.dropFirst() where game.isNewer(than: newest) { newest = game }

        let prefix =
            if let environment, !environment.isEmpty, environment != "none" {
                "[\(environment)] "
            } else { "" }
        game = newest.id
        gameName = newest.shownName
        title = texts[.title]
        if games.count == 1 {
            subtitle = newest.progress(against: newest.opponent(of: player), texts)
            body = prefix + texts.filled(.oneGame, newest.visibleName ?? newest.title(in: texts))
        } else {
            subtitle = nil
            body = prefix + texts.filled(.games, String(games.count))
        }
        self.badge = badge
        self.site = site
        collapseID = "turn-\(player)"

        let latest = games.map { $0.deadline ?? now + .days(30) }.max() ?? now
        expiration = min(max(latest, now + .hours(1)), now + .days(30))
    }

    /// The payload that the phone receives: less than ``PushType/payloadLimit`` for any names.
    package var payload: Payload {
        var alert: JSONObject = ["title": .string(title)]
        if let subtitle { alert["subtitle"] = .string(subtitle) }
        alert["body"] = .string(body)
        return Payload(
            aps: [
                "alert": .object(alert), "badge": .integer(Int64(badge)), "sound": "default",
            ],
            data: [
                "web_url": .string("\(site.text)/game/\(game)"),
                "app_url": .string("ogs://game/\(game)"),
                "game_id": .integer(game),
                "action": "open_game",
                "game_name": .string(gameName),
            ])
    }
}

extension Game {
    /// The name for a person to read: one line, never empty.
    package var shownName: String { visibleName ?? title(in: .english) }

    /// The name on one line; `nil` if it shows nothing.
    fileprivate var visibleName: String? {
        // The payload contains it twice, and must stay below `PushType.payloadLimit`.
        let line = oneLine(name, atMost: 256)
        return line.isVisible ? line : nil
    }

    /// Its title without a name.
    fileprivate func title(in texts: TurnTexts) -> String { texts.filled(.game, String(id)) }

    fileprivate func isNewer(than other: Game) -> Bool {
        (lastMove?.milliseconds ?? .min, id) > (other.lastMove?.milliseconds ?? .min, other.id)
    }

    /// After this moment nobody needs to hear about the turn.
    fileprivate var deadline: Timestamp? {
        phase == .stoneRemoval ? stoneRemovalExpiration ?? expiration : expiration
    }

    fileprivate func progress(against opponent: String?, _ texts: TurnTexts) -> String? {
        let stage: String? =
            switch (phase, moveCount) {
            case (.stoneRemoval, _): texts[.stoneRemoval]
            case (_, 0?): texts[.firstMove]
            case (_, let count?): texts.filled(.move, String(count))
            case (_, nil): nil
            }
        let name = opponent.map { oneLine($0, atMost: 64) }
        let parts = [name, stage].compactMap { $0 }.filter { $0.isVisible }
        return parts.isEmpty ? nil : parts.joined(separator: " · ")
    }
}

/// The text on one line: control characters and runs of white space become one blank each, with none at the
/// ends. If it is longer than `limit` bytes, it is cut between characters and `…` is appended.
private func oneLine(_ text: String, atMost limit: Int) -> String {
    var line = ""
    var blank = false
    for character in text {
        let isBlank = character.unicodeScalars.allSatisfy {
            $0.properties.isWhitespace || $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
        }
        if isBlank {
            blank = !line.isEmpty
            continue
        }
        let next = (blank ? " " : "") + String(character)
        guard line.utf8.count + next.utf8.count <= limit else {
            return shortened(line, to: limit) + "…"
        }
        line += next
        blank = false
    }
    return line
}

/// Cuts the line to leave room for the ellipsis, which has three bytes.
private func shortened(_ line: String, to limit: Int) -> String {
    var line = line
    while line.utf8.count > limit - 3, !line.isEmpty { line.removeLast() }
    return line
}
