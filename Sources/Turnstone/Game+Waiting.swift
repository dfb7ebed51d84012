extension Game {
    /// Whether OGS waits for `player`, running or paused, live or not.
    ///
    /// In play the clock alone says so, in rengo too. In stone removal both sides have to accept, so
    /// it is everybody's turn whose side has not; in rengo any member of the team may do it.
    package func isTurn(of player: PlayerID) -> Bool {
        switch phase {
        case .play: currentPlayer == player.number
        case .stoneRemoval:
            black.holds(player) && !isAccepted(by: black)
                || white.holds(player) && !isAccepted(by: white)
        case .finished, .other: false
        }
    }

    /// Whether a person should be told that the game waits for `player`.
    package func waits(for player: PlayerID, liveToo: Bool) -> Bool {
        isTurn(of: player) && !isPaused && (liveToo || !isLive)
    }

    /// Stone removal stops the clocks with a pause of its own, which stops nobody from accepting.
    package var isPaused: Bool {
        pauseKeys.contains { phase != .stoneRemoval || $0 != "stone-removal" }
    }

    /// Whether the players sit at the board: then a push comes too late and disturbs.
    ///
    /// Where OGS states neither speed nor time per move, the game counts as correspondence: a push
    /// too many is a smaller fault than a game lost on time.
    package var isLive: Bool {
        switch speed {
        case .blitz, .rapid, .live: true
        case .correspondence: false
        case .other, nil: (1...3600).contains(secondsPerMove ?? 0)
        }
    }

    /// The other side's name; in rengo that of its member who plays now.
    package func opponent(of player: PlayerID) -> String? {
        let name: String? =
            if black.holds(player) { white.name } else if white.holds(player) { black.name } else {
                nil
            }
        return name?.isEmpty == true ? nil : name
    }

    /// A side's agreement holds for the stones it saw: it ends when the other marks different ones.
    private func isAccepted(by seat: Seat) -> Bool {
        guard let accepted = seat.acceptedStones else { return false }
        return points(accepted) == points(removedStones ?? "")
    }
}

/// The points of a string of two-letter coordinates, in one order whatever the text's.
private func points(_ stones: String) -> [UInt16] {
    let letters = Array(stones.utf8)
    return stride(from: 0, to: letters.count, by: 2).map { place in
        let second = place + 1 < letters.count ? letters[place + 1] : 0
        return UInt16(letters[place]) << 8 | UInt16(second)
    }.sorted()
}
