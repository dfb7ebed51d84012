/// One active game of Online-Go.com, reduced to what decides whose turn it is.
///
/// All moments are OGS's clock, in milliseconds, which may differ from ours.
package struct Game: Equatable, Sendable {
    package let id: Int64
    /// The name that the players gave it, possibly empty or long.
    package var name = ""
    package var phase = Phase.play
    /// The player for whom the clock waits.
    ///
    /// In stone removal it still names the player who did not pass last, so there it says nothing.
    package var currentPlayer: Int64?
    /// Moves and passes so far; `nil` if the answer has no move list.
    package var moveCount: Int?
    package var lastMove: Timestamp?
    /// When the player to move runs out of time, unless the game is paused.
    package var expiration: Timestamp?
    /// When the result is accepted automatically.
    package var stoneRemovalExpiration: Timestamp?
    /// The names of the members of `pause_control`, such as `weekend` or `vacation-1783478`.
    package var pauseKeys: [String] = []
    package var speed: Speed?
    /// The average that OGS expects, in whole seconds; 0 if there is no limit.
    package var secondsPerMove: Int64?
    /// The stones marked dead, in stone removal: two letters each.
    package var removedStones: String?
    /// In rengo the member of the team who plays now.
    package var black = Seat()
    package var white = Seat()

    /// Its moves, which decide nothing; `nil` if they are not known.
    package var board: Board?

    package init(id: Int64) {
        self.id = id
    }

    package enum Phase: Equatable, Sendable {
        case play
        case stoneRemoval
        case finished
        /// A phase that this program does not know. Nobody is notified of such a game.
        case other(String)
    }

    package enum Speed: Equatable, Sendable {
        case blitz
        case rapid
        case live
        case correspondence
        case other(String)
    }

    /// One colour's side of the board.
    package struct Seat: Equatable, Sendable {
        package var id: Int64?
        package var name: String?
        /// The dead stones that this side agreed to; `nil` if it has not agreed.
        package var acceptedStones: String?
        /// In rengo the players of this colour, who take turns; otherwise empty.
        package var team: [Int64] = []

        package init() {}

        package func holds(_ player: PlayerID) -> Bool {
            id == player.number || team.contains(player.number)
        }
    }
}

extension Game.Phase {
    /// OGS: *phase* of the game data.
    package init(_ name: String) {
        self =
            switch name {
            case "play": .play
            case "stone removal": .stoneRemoval
            case "finished": .finished
            default: .other(name)
            }
    }

    package var name: String {
        switch self {
        case .play: "play"
        case .stoneRemoval: "stone removal"
        case .finished: "finished"
        case .other(let name): name
        }
    }
}

extension Game.Speed {
    /// OGS: *time_control.speed*.
    package init(_ name: String) {
        self =
            switch name {
            case "blitz": .blitz
            case "rapid": .rapid
            case "live": .live
            case "correspondence": .correspondence
            default: .other(name)
            }
    }
}
