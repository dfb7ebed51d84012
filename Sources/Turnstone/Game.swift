/// One active game of Online-Go.com, as far as whose turn it is depends on it.
///
/// Every moment is OGS's clock, in milliseconds; it need not agree with ours.
package struct Game: Equatable, Sendable {
    package let id: Int64
    /// As the players named it: perhaps empty, perhaps long.
    package var name = ""
    package var phase = Phase.play
    /// Whom the clock waits for.
    ///
    /// In stone removal it still names the one who did not pass last, so there it says nothing.
    package var currentPlayer: Int64?
    /// Moves and passes so far; `nil` where the answer holds no move list.
    package var moveCount: Int?
    package var lastMove: Timestamp?
    /// When the player to move runs out of time, unless the game is paused.
    package var expiration: Timestamp?
    /// When the result is accepted by itself.
    package var stoneRemovalExpiration: Timestamp?
    /// The names of the members of `pause_control`, such as `weekend` or `vacation-1783478`.
    package var pauseKeys: [String] = []
    package var speed: Speed?
    /// The average that OGS expects, in whole seconds; 0 where there is no limit.
    package var secondsPerMove: Int64?
    /// The stones marked dead, in stone removal: two letters each.
    package var removedStones: String?
    /// In rengo the member of the team who plays now.
    package var black = Seat()
    package var white = Seat()

    package init(id: Int64) {
        self.id = id
    }

    package enum Phase: Equatable, Sendable {
        case play
        case stoneRemoval
        case finished
        /// One that this program does not know: nobody is told anything about it.
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
        /// The dead stones this side agreed to; `nil` while it agreed to none.
        package var acceptedStones: String?
        /// Everybody who plays this colour in rengo, in turns; otherwise empty.
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
