/// Each active game's last notified turn, and the notice it was queued in.
package struct TurnLedger: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let turn: Turn
        /// The player's notices count up from 1.
        package let notice: Int64

        package init(turn: Turn, notice: Int64) {
            self.turn = turn
            self.notice = notice
        }
    }

    /// By game, ascending, one for each.
    package private(set) var entries: [Entry] = []

    package init() {}

    package subscript(game: Int64) -> Entry? {
        let place = place(of: game)
        guard place < entries.count, entries[place].turn.game == game else { return nil }
        return entries[place]
    }

    /// Whether the player was notified of this turn.
    package func holds(_ turn: Turn) -> Bool {
        self[turn.game]?.turn.isSame(as: turn) == true
    }

    /// Records that the games' turns were queued in `notice`.
    package mutating func mark(_ games: [Game], notice: Int64) {
        for game in games { insert(Entry(turn: Turn(game), notice: notice)) }
    }

    /// Takes over another ledger's entries in place of its own for the same games.
    package mutating func merge(_ other: TurnLedger) {
        for entry in other.entries { insert(entry) }
    }

    package func marking(_ games: [Game], notice: Int64) -> TurnLedger {
        var marked = self
        marked.mark(games, notice: notice)
        return marked
    }

    /// The ledger without the games that `isKept` denies.
    package func filtered(_ isKept: (Int64) -> Bool) -> TurnLedger {
        var rest = self
        rest.entries.removeAll { !isKept($0.turn.game) }
        return rest
    }

    private mutating func insert(_ entry: Entry) {
        let place = place(of: entry.turn.game)
        if place < entries.count, entries[place].turn.game == entry.turn.game {
            entries[place] = entry
        } else {
            entries.insert(entry, at: place)
        }
    }

    /// Where the game's entry is, or would go.
    private func place(of game: Int64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].turn.game < game { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension TurnLedger {
    /// Reads the form that ``json`` writes.
    ///
    /// - Returns: `nil` where it is none: a ledger half understood would notify of turns again.
    package init?(_ json: JSONValue) {
        guard let elements = json.array else { return nil }
        for element in elements {
            guard let members = element.object, let game = members["game"]?.integer,
                let phase = members["phase"]?.string, let notice = members["notice"]?.integer
            else { return nil }
            let turn = Turn(
                game: game, phase: Game.Phase(phase),
                moveCount: members["moves"]?.integer.map { Int($0) },
                lastMove: members["last_move"]?.timestamp)
            insert(Entry(turn: turn, notice: notice))
        }
    }

    /// An array of `{"game", "phase", "moves", "last_move", "notice"}`: `last_move` in milliseconds since
    /// 1970; `moves` and `last_move` left out where unknown.
    package var json: JSONValue {
        .array(
            entries.map { entry in
                var members: JSONObject = [
                    "game": .integer(entry.turn.game), "phase": .string(entry.turn.phase.name),
                ]
                if let count = entry.turn.moveCount { members["moves"] = .integer(Int64(count)) }
                if let moment = entry.turn.lastMove { members["last_move"] = JSONValue(moment) }
                members["notice"] = .integer(entry.notice)
                return .object(members)
            })
    }
}
