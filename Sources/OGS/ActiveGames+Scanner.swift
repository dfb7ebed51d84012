import JSON
import Turnstone

extension ActiveGames {
    /// Reads the answer to `GET /api/v1/players/{id}/full`.
    ///
    /// A game whose data makes no sense is left out and counted in ``skipped``.
    ///
    /// - Returns: `nil` if the whole answer is unusable: not JSON, cut off, HTML, or without a list of active
    ///   games. That is an outage, never "no games".
    package init?(answer: [UInt8]) {
        var scanner = JSONScanner(answer)
        var games = ActiveGames()
        var isListed = false
        do throws(JSONScanner.Malformed) {
            try scanner.forEachMember { (scanner, name) throws(JSONScanner.Malformed) in
                guard "active_games" ~= name, scanner.isArray() else { return try scanner.skip() }
                isListed = true
                games = ActiveGames()
                try scanner.forEachElement { (scanner) throws(JSONScanner.Malformed) in
                    if let game = try scanner.game() {
                        games.games.append(game)
                    } else {
                        games.skipped += 1
                    }
                }
            }
        } catch { return nil }
        guard isListed, scanner.isAtEnd() else { return nil }
        games.answer.bytes = answer
        self = games
    }
}

/// A game's members as they come, in any order.
private struct Draft {
    var outerID: Int64?
    var innerID: Int64?
    var name: String?
    var innerName: String?
    var phase: String?
    var game = Game(id: 0)
    /// The players according to the list, which may be out of date in rengo.
    var black = Game.Seat()
    var white = Game.Seat()

    /// - Returns: `nil` if the data makes no sense.
    var finished: Game? {
        guard let id = outerID ?? innerID, id > 0, let phase else { return nil }
        var finished = Game(id: id)
        finished.name = name ?? innerName ?? ""
        finished.phase = Game.Phase(phase)
        finished.currentPlayer = game.currentPlayer
        finished.moveCount = game.moveCount
        finished.lastMove = game.lastMove
        finished.expiration = game.expiration
        finished.stoneRemovalExpiration = game.stoneRemovalExpiration
        finished.pauseKeys = game.pauseKeys
        finished.speed = game.speed
        finished.secondsPerMove = game.secondsPerMove
        finished.removedStones = game.removedStones
        finished.black = seat(game.black, black)
        finished.white = seat(game.white, white)
        return finished
    }

    private func seat(_ inner: Game.Seat, _ outer: Game.Seat) -> Game.Seat {
        var seat = inner
        seat.id = inner.id ?? outer.id
        seat.name = inner.name ?? (inner.id == nil || inner.id == outer.id ? outer.name : nil)
        return seat
    }
}

extension JSONScanner {
    /// Reads an element of `active_games`; `nil` after one that makes no sense.
    fileprivate mutating func game() throws(Malformed) -> Game? {
        guard isObject() else {
            try skip()
            return nil
        }
        var draft = Draft()
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "id": draft.outerID = try scanner.integer()
            case "name": draft.name = try scanner.text()
            case "black": try scanner.player(&draft.black)
            case "white": try scanner.player(&draft.white)
            case "time_per_move": draft.game.secondsPerMove = try scanner.integer()
            case "json": try scanner.gameData(&draft)
            default: try scanner.skip()
            }
        }
        return draft.finished
    }

    private mutating func gameData(_ draft: inout Draft) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "game_id": draft.innerID = try scanner.integer()
            case "game_name": draft.innerName = try scanner.text()
            case "phase": draft.phase = try scanner.text()
            case "moves": draft.game.moveCount = try scanner.count()
            case "clock": try scanner.clock(&draft.game)
            case "time_control": try scanner.timeControl(&draft.game)
            case "pause_control": draft.game.pauseKeys = try scanner.names()
            case "removed": draft.game.removedStones = try scanner.text()
            case "black_player_id": draft.game.black.id = try scanner.integer()
            case "white_player_id": draft.game.white.id = try scanner.integer()
            case "players": try scanner.seats(&draft.game)
            case "rengo_teams": try scanner.teams(&draft.game)
            default: try scanner.skip()
            }
        }
    }

    private mutating func clock(_ game: inout Game) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "current_player": game.currentPlayer = try scanner.integer()
            case "last_move": game.lastMove = try scanner.moment()
            case "expiration": game.expiration = try scanner.moment()
            case "stone_removal_expiration": game.stoneRemovalExpiration = try scanner.moment()
            default: try scanner.skip()
            }
        }
    }

    /// Milliseconds since 1970, perhaps with a fraction.
    private mutating func moment() throws(Malformed) -> Timestamp? {
        try integer().map { Timestamp(milliseconds: $0) }
    }

    private mutating func timeControl(_ game: inout Game) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "speed": game.speed = try scanner.text().map { Game.Speed($0) }
            default: try scanner.skip()
            }
        }
    }

    /// The names of the object's members. Any member of `pause_control` pauses the game.
    private mutating func names() throws(Malformed) -> [String] {
        guard isObject() else {
            try skip()
            return []
        }
        var names: [String] = []
        try forEachMember { (scanner, name) throws(Malformed) in
            names.append(try scanner.text(of: name))
            try scanner.skip()
        }
        return names
    }

    private mutating func seats(_ game: inout Game) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "black": try scanner.player(&game.black)
            case "white": try scanner.player(&game.white)
            default: try scanner.skip()
            }
        }
    }

    private mutating func player(_ seat: inout Game.Seat) throws(Malformed) {
        guard isObject() else {
            // In some answers a player is a bare number.
            if let id = try integer() { seat.id = id }
            return
        }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "id": if let id = try scanner.integer() { seat.id = id }
            case "username": seat.name = try scanner.text()
            case "accepted_stones": seat.acceptedStones = try scanner.text()
            default: try scanner.skip()
            }
        }
    }

    private mutating func teams(_ game: inout Game) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "black": game.black.team = try scanner.team()
            case "white": game.white.team = try scanner.team()
            default: try scanner.skip()
            }
        }
    }

    private mutating func team() throws(Malformed) -> [Int64] {
        guard isArray() else {
            try skip()
            return []
        }
        var team: [Int64] = []
        try forEachElement { (scanner) throws(Malformed) in
            var seat = Game.Seat()
            try scanner.player(&seat)
            if let id = seat.id { team.append(id) }
        }
        return team
    }
}
