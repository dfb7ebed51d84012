/// Tells which of a player's games wait for the player, and of which the player has not been told.
package enum TurnRule {
    /// Every active game is in exactly one of `new`, `old`, `held` and `elsewhere`, in OGS's order.
    package struct Judgement: Equatable, Sendable {
        /// Waiting, and not in the ledger: to be notified of.
        package var new: [Game] = []
        /// Waiting, and a notice is queued or was told already.
        package var old: [Game] = []
        /// The player's turn, but paused, or live where live games are not asked for.
        package var held: [Game] = []
        /// Somebody else's turn, or nobody's.
        package var elsewhere: [Game] = []
        /// The ledger without games that are gone, and with those marked that went on since; no new turn is in it
        /// yet.
        package var ledger: TurnLedger

        /// The games that wait, new or old, the new ones first.
        package var waiting: [Game] { new + old }

        /// How many games wait, new or old: what a badge shows. A paused game does not wait: the number goes down when
        /// the pause begins and up when it ends, both without an alert.
        package var badge: Int { new.count + old.count }
    }

    /// - Parameter liveToo: Whether blitz, rapid and live games count.
    ///
    /// A turn stays in the ledger through pauses and while the opponent thinks; only a game that
    /// is no longer active leaves. Where a game was skipped nothing leaves, since it may be that one.
    package static func judge(
        _ look: ActiveGames, ledger: TurnLedger, player: PlayerID, liveToo: Bool
    ) -> Judgement {
        var judgement = Judgement(ledger: ledger)
        let ids = look.games.map { $0.id }.sorted()
        if look.skipped == 0 {
            judgement.ledger = ledger.filtered { contains($0, in: ids) }
        }
        for game in withoutRepeats(look.games, sortedIDs: ids) {
            if game.waits(for: player, liveToo: liveToo) {
                if ledger.holds(Turn(game)) {
                    judgement.old.append(game)
                } else {
                    judgement.new.append(game)
                }
            } else if game.isTurn(of: player) {
                judgement.held.append(game)
            } else {
                judgement.elsewhere.append(game)
            }
        }
        judgement.ledger.noteAway(judgement.elsewhere)
        return judgement
    }

    /// A game listed twice would count twice; the first listing holds.
    private static func withoutRepeats(_ games: [Game], sortedIDs ids: [Int64]) -> [Game] {
        guard zip(ids, ids.dropFirst()).contains(where: { $0 == $1 }) else { return games }
        var seen: Set<Int64> = []
        return games.filter { seen.insert($0.id).inserted }
    }

    private static func contains(_ id: Int64, in sorted: [Int64]) -> Bool {
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == id
    }
}
