/// For each active game, the last turn for which a notice was queued, and whether a device has accepted that
/// notice.
package struct TurnLedger: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let turn: Turn
        /// The number of the notice for the turn. A player's notices count up from 1.
        package var notice: Int64
        /// The number of the first notice for it. Newer notices name the turn too while no device has accepted
        /// one.
        package let first: Int64
        /// Whether a device has accepted the notice. Until then the turn is queued.
        package var isNotified: Bool
        /// Whether the game was seen not waiting for the player since. The same position with a later move is
        /// then another turn (an undo).
        package var wasAway = false

        package init(turn: Turn, notice: Int64, first: Int64? = nil, isNotified: Bool = true) {
            self.turn = turn
            self.notice = notice
            self.first = first ?? notice
            self.isNotified = isNotified
        }

        /// Whether a game's present turn is this one.
        func covers(_ turn: Turn) -> Bool {
            guard self.turn.isSame(as: turn) else { return false }
            guard wasAway, let before = self.turn.lastMove, let now = turn.lastMove else {
                return true
            }
            return now <= before
        }
    }

    /// Sorted by game, one entry per game.
    package private(set) var entries: [Entry] = []

    package init() {}

    /// The newest of the last moves of all turns.
    package var newestMove: Timestamp? {
        var newest: Timestamp?
        for entry in entries {
            guard let move = entry.turn.lastMove else { continue }
            newest = max(newest ?? move, move)
        }
        return newest
    }

    package subscript(game: Int64) -> Entry? {
        let place = place(of: game)
        guard place < entries.count, entries[place].turn.game == game else { return nil }
        return entries[place]
    }

    /// Whether a notice was queued or accepted for this turn.
    package func holds(_ turn: Turn) -> Bool {
        self[turn.game]?.covers(turn) == true
    }

    /// Records the games' turns as notified, or as never to be notified.
    package mutating func mark(_ games: [Game], notice: Int64) {
        for game in games { insert(Entry(turn: Turn(game), notice: notice)) }
    }

    /// Records that a notice was queued for the games' turns.
    package mutating func queue(_ games: [Game], notice: Int64) {
        for game in games { insert(Entry(turn: Turn(game), notice: notice, isNotified: false)) }
    }

    /// Adds the turns of a notice that is in the spool, replacing entries of the same games.
    package mutating func queue(_ notice: TurnLedger) {
        for entry in notice.entries {
            insert(
                Entry(
                    turn: entry.turn, notice: entry.notice, first: entry.first, isNotified: false))
        }
    }

    package func marking(_ games: [Game], notice: Int64) -> TurnLedger {
        var marked = self
        marked.mark(games, notice: notice)
        return marked
    }

    /// Records that the games are not waiting for the player now.
    mutating func markAway(_ games: [Game]) {
        guard !entries.isEmpty else { return }
        for game in games {
            let place = place(of: game.id)
            guard place < entries.count, entries[place].turn.game == game.id else { continue }
            entries[place].wasAway = true
        }
    }

    /// The ledger without the games for which `isKept` is false.
    package func filtered(_ isKept: (Int64) -> Bool) -> TurnLedger {
        var rest = self
        rest.entries.removeAll { !isKept($0.turn.game) }
        return rest
    }

    private mutating func update(_ change: (inout Entry) -> Void) {
        for index in entries.indices { change(&entries[index]) }
    }

    private mutating func insert(_ entry: Entry) {
        let place = place(of: entry.turn.game)
        if place < entries.count, entries[place].turn.game == entry.turn.game {
            entries[place] = entry
        } else {
            entries.insert(entry, at: place)
        }
    }

    /// The index of the game's entry, or where it would be inserted.
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

// MARK: A notice's outcome

extension TurnLedger {
    /// Decides which turns a notice names at the moment it is sent: its own turns that still wait, and those
    /// of older notices that no device has accepted. It becomes the notice of all of them, and its turns that
    /// no longer wait are forgotten. Turns of newer notices are left to those, which may be for more devices.
    ///
    /// If none of its own waits any more, it names nothing: the older notices are still queued, and what was
    /// sent of them may have arrived.
    ///
    /// - Parameter waiting: the games that wait for the player, by the newest look.
    /// - Returns: the games that the notice names, in the look's order.
    package mutating func fill(_ notice: Int64, from waiting: [Game]) -> [Game] {
        var named: [Game] = []
        var hasOwn = false
        for game in waiting {
            guard let entry = self[game.id], entry.covers(Turn(game)),
                entry.notice == notice || !entry.isNotified && entry.notice < notice
            else { continue }
            if entry.notice == notice { hasOwn = true }
            named.append(game)
        }
        if !hasOwn { named = [] }
        let ids = Set(named.map { $0.id })
        entries.removeAll { $0.notice == notice && !$0.isNotified && !ids.contains($0.turn.game) }
        update { entry in
            if !entry.isNotified, ids.contains(entry.turn.game) { entry.notice = notice }
        }
        return named
    }

    /// Records that a device has accepted a notice. A newer one may name its turns by now.
    package mutating func markAccepted(_ notice: Int64) {
        update { if $0.first <= notice, notice <= $0.notice { $0.isNotified = true } }
    }

    /// Forgets the turns of a notice that reached no device: they are new again.
    package mutating func forget(_ notice: Int64) {
        entries.removeAll { $0.notice == notice && !$0.isNotified }
    }

    /// The notices whose outcome is still open.
    package var openNotices: Set<Int64> { Set(entries.filter { !$0.isNotified }.map { $0.notice }) }
}

extension TurnLedger {
    /// Reads the form that ``json`` writes.
    ///
    /// - Returns: `nil` for anything else: a half-understood ledger would notify of turns again.
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
            var entry = Entry(
                turn: turn, notice: notice, first: members["first"]?.integer,
                isNotified: members["queued"]?.bool != true)
            entry.wasAway = members["away"]?.bool == true
            insert(entry)
        }
    }

    /// An array of `{"game", "phase", "moves", "last_move", "notice", "first", "queued", "away"}`. `last_move`
    /// is in milliseconds since 1970. `moves` and `last_move` are omitted if unknown, `first` if it is
    /// `notice`, the last two if false.
    package var json: JSONValue {
        .array(
            entries.map { entry in
                var members: JSONObject = [
                    "game": .integer(entry.turn.game), "phase": .string(entry.turn.phase.name),
                ]
                if let count = entry.turn.moveCount { members["moves"] = .integer(Int64(count)) }
                if let moment = entry.turn.lastMove { members["last_move"] = JSONValue(moment) }
                members["notice"] = .integer(entry.notice)
                if entry.first != entry.notice { members["first"] = .integer(entry.first) }
                if !entry.isNotified { members["queued"] = true }
                if entry.wasAway { members["away"] = true }
                return .object(members)
            })
    }
}
