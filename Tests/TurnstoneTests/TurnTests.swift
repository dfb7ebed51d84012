import Testing
import Turnstone

@Suite struct TurnTests {
    private func turn(
        _ game: Int64 = 1, _ phase: Game.Phase = .play, moves: Int? = 37, at lastMove: Int64? = 1000
    ) -> Turn {
        Turn(
            game: game, phase: phase, moveCount: moves,
            lastMove: lastMove.map { Timestamp(milliseconds: $0) })
    }

    @Test func theMoveListDecides() {
        #expect(turn().isSame(as: turn()))
        #expect(turn().isSame(as: turn(at: 2000)))
        #expect(turn().isSame(as: turn(at: nil)))
        #expect(!turn().isSame(as: turn(moves: 38)))
        #expect(!turn().isSame(as: turn(moves: 36)))
    }

    @Test func anotherGameOrPhaseIsAnotherTurn() {
        #expect(!turn().isSame(as: turn(2)))
        #expect(!turn().isSame(as: turn(1, .stoneRemoval)))
    }

    @Test func withoutAMoveListTheLastMoveTellsApart() {
        #expect(turn(moves: nil).isSame(as: turn(moves: nil)))
        #expect(!turn(moves: nil).isSame(as: turn(moves: nil, at: 2000)))
        #expect(turn(moves: nil).isSame(as: turn(moves: 37)))
        #expect(!turn(moves: 37).isSame(as: turn(moves: nil, at: 2000)))
    }

    @Test func whatNeitherKnowsTellsNothingApart() {
        #expect(turn(moves: nil, at: nil).isSame(as: turn(moves: nil, at: 2000)))
        #expect(turn(moves: nil, at: nil).isSame(as: turn(moves: nil, at: nil)))
    }
}
