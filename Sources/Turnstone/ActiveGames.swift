/// The result of one look at a player's games.
package struct ActiveGames: Equatable, Sendable {
    /// In OGS's order.
    package var games: [Game]
    /// How many games had unusable data. The others are judged without them.
    package var skipped: Int

    /// The answer that they were read from.
    package var answer = RawAnswer()

    /// The bytes of an answer, which are no part of what was found: all are equal.
    package struct RawAnswer: Equatable, Sendable {
        package var bytes: [UInt8] = []

        package static func == (left: RawAnswer, right: RawAnswer) -> Bool { true }
    }

    package init(games: [Game] = [], skipped: Int = 0) {
        self.games = games
        self.skipped = skipped
    }
}
