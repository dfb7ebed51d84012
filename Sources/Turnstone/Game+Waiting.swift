extension Game {
    /// Whether OGS waits for `player`, running or paused, live or not.
    ///
    /// During play only the clock counts, in rengo too. In stone removal both sides must accept, so it is the
    /// turn of everybody whose side has not accepted. In rengo any member of the team may do it.
    package func isTurn(of player: PlayerID) -> Bool {
        switch phase {
        case .play: currentPlayer == player.number
        case .stoneRemoval:
            black.holds(player) && !isAccepted(by: black)
                || white.holds(player) && !isAccepted(by: white)
        case .finished, .other: false
        }
    }

    /// Whether `player` should be notified that the game waits.
    package func waits(for player: PlayerID, includingLive: Bool) -> Bool {
        isTurn(of: player) && !isPaused && (includingLive || !isLive)
    }

    /// Stone removal stops the clocks with a pause of its own, which does not keep anybody from accepting.
    package var isPaused: Bool {
        pauseKeys.contains { phase != .stoneRemoval || $0 != "stone-removal" }
    }

    /// Whether the players sit at the board. A push would come too late and disturb.
    ///
    /// If OGS states neither speed nor time per move, the game counts as correspondence: one push too many is
    /// better than a game lost on time.
    package var isLive: Bool {
        switch speed {
        case .blitz, .rapid, .live: true
        case .correspondence: false
        case .other, nil: (1...3600).contains(secondsPerMove ?? 0)
        }
    }

    /// The opponent's name; in rengo the name of the team's member who plays now.
    package func opponent(of player: PlayerID) -> String? {
        let name: String? =
            if black.holds(player) { white.name } else if white.holds(player) { black.name } else {
                nil
            }
        return name?.isEmpty == true ? nil : name
    }

    /// A side's agreement is for the stones it saw. It ends when the other side marks different ones.
    private func isAccepted(by seat: Seat) -> Bool {
        guard let accepted = seat.acceptedStones else { return false }
        return points(accepted) == points(removedStones ?? "")
    }
}

/// The points of a string of two-letter coordinates, sorted.
private func points(_ stones: String) -> [UInt16] {
    let letters = Array(stones.utf8)
    return stride(from: 0, to: letters.count, by: 2).map { place in
        let second = place + 1 < letters.count ? letters[place + 1] : 0
        return UInt16(letters[place]) << 8 | UInt16(second)
    }.sorted()
}
