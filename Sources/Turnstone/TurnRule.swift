/// Decides which of a player's games wait for the player, and for which of them no notice was queued yet.
package enum TurnRule {
    /// Every active game is in exactly one of `new`, `old`, `held` and `elsewhere`, in OGS's order.
    package struct Judgement: Equatable, Sendable {
        /// Waiting and not in the ledger: the player must be notified.
        package var new: [Game] = []
        /// Waiting, and a notice was queued or accepted already.
        package var old: [Game] = []
        /// The player's turn, but paused, or live while live games are not wanted.
        package var held: [Game] = []
        /// Somebody else's turn, or nobody's.
        package var elsewhere: [Game] = []
        /// The ledger without finished games, with games marked that went on. It has no new turns yet.
        package var ledger: TurnLedger

        /// The games that wait, new ones first.
        package var waiting: [Game] { new + old }

        /// How many games wait, which is the badge. A paused game does not wait: the number goes down when
        /// the pause begins and up when it ends, both without an alert.
        package var badge: Int { new.count + old.count }
    }

    /// Judges what a look found.
    ///
    /// - Parameter includingLive: whether blitz, rapid and live games count.
    ///
    /// A turn stays in the ledger during pauses and while the opponent thinks. Only a game that is no longer
    /// active leaves. If the look skipped a game, none leaves, because it may be that one.
    package static func judge(
        _ look: ActiveGames, ledger: TurnLedger, player: PlayerID, includingLive: Bool
    ) -> Judgement {
        var judgement = Judgement(ledger: ledger)
        let ids = look.games.map { $0.id }.sorted()
        if look.skipped == 0 {
            judgement.ledger = ledger.filtered { contains($0, in: ids) }
        }
        for game in withoutRepeats(look.games, sortedIDs: ids) {
            if game.waits(for: player, includingLive: includingLive) {
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
        judgement.ledger.markAway(judgement.elsewhere)
        return judgement
    }

    /// Removes repeated games, which would count twice. The first listing counts.
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
