/// What one look at a player's games found.
package struct ActiveGames: Equatable, Sendable {
    /// In OGS's order.
    package var games: [Game]
    /// How many games had unusable data. The others are judged without them.
    package var skipped: Int

    package init(games: [Game] = [], skipped: Int = 0) {
        self.games = games
        self.skipped = skipped
    }
}
