import Testing
import Turnstone

/// The player whom the tests are about, and the others of their games.
let me = PlayerID(number: 42)!
let opponent: Int64 = 7
let noon = Timestamp(milliseconds: 1_763_726_400_000)

/// A correspondence game in which it is my turn: I am black, 37 moves were made.
func game(_ id: Int64, _ change: (inout Game) -> Void = { _ in }) -> Game {
    var game = Game(id: id)
    game.name = "Game \(id)"
    game.currentPlayer = me.number
    game.moveCount = 37
    game.lastMove = noon - .hours(1)
    game.expiration = noon + .days(3)
    game.speed = .correspondence
    game.secondsPerMove = 89_280
    game.black.id = me.number
    game.black.name = "player-42"
    game.white.id = opponent
    game.white.name = "player-7"
    change(&game)
    return game
}

/// Makes a game one whose dead stones are being agreed on.
func inStoneRemoval(_ game: inout Game) {
    game.phase = .stoneRemoval
    game.moveCount = 40
    game.pauseKeys = ["stone-removal"]
    game.removedStones = "aabbcc"
    game.stoneRemovalExpiration = noon + .hours(20)
}

/// A change to a game, with the name that a failure shows.
struct Change: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let make: @Sendable (inout Game) -> Void

    init(_ name: String, _ make: @escaping @Sendable (inout Game) -> Void) {
        testDescription = name
        self.make = make
    }
}
