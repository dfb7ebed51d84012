/// One occasion on which a game waits for a player: what a player is notified of once.
///
/// `==` compares what is recorded; ``isSame(as:)`` is the rule by which two looks saw one turn.
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

    /// Whether both are the same turn: game, phase and number of moves agree.
    ///
    /// The time of the last move counts only where one of them knows no number of moves, since nobody
    /// knows whether the end of a pause changes it. What is missing on one side tells nothing apart.
    package func isSame(as other: Turn) -> Bool {
        guard game == other.game, phase == other.phase else { return false }
        if let moveCount, let count = other.moveCount { return moveCount == count }
        guard let lastMove, let moment = other.lastMove else { return true }
        return lastMove == moment
    }
}
