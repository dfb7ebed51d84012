/// One occasion on which a game waits for a player. The player is notified of it once.
///
/// `==` compares what is recorded; ``isSame(as:)`` decides whether two looks saw the same turn.
package struct Turn: Equatable, Sendable {
    package let game: Int64
    package let phase: Game.Phase
    package let moveCount: Int?
    package let lastMove: Timestamp?

    package init(game: Int64, phase: Game.Phase, moveCount: Int?, lastMove: Timestamp?) {
        self.game = game
        self.phase = phase
        self.moveCount = moveCount
        self.lastMove = lastMove
    }

    package init(_ game: Game) {
        self.init(
            game: game.id, phase: game.phase, moveCount: game.moveCount, lastMove: game.lastMove)
    }

    /// Whether both are the same turn: game, phase and number of moves are equal.
    ///
    /// The time of the last move counts only if the number of moves is unknown to one of them, because the
    /// end of a pause may change that time. A value that is missing on one side does not count.
    package func isSame(as other: Turn) -> Bool {
        guard game == other.game, phase == other.phase else { return false }
        if let moveCount, let count = other.moveCount { return moveCount == count }
        guard let lastMove, let moment = other.lastMove else { return true }
        return lastMove == moment
    }
}
