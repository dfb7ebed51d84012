import Turnstone

extension Stage {
    /// - Returns: `nil` if this is not one of OGS's commands.
    func performForBoard(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        let now = try command.moment("now") ?? now
        switch name {
        case "player":
            let player = try command.required("player", command.number("player"))
            site.board.setPlayer(
                player, name: try command.text("name"), about: try command.text("about"))
            return [:]
        case "raw":
            let player = try command.required("player", command.number("player"))
            site.board.setRawAnswer(player, try command.text("body").map { Array($0.utf8) })
            return [:]
        case "game": return try put(command, now)
        case "remove":
            site.board.remove(try command.required("game", command.number("game")))
            return [:]
        case "move", "pass", "accept", "pause", "resume", "finish", "undo":
            return try change(name, command, now)
        case "ogs-fault":
            site.faults.append(try SiteFault(command))
            return [:]
        case "etags":
            site.hasEntityTags = try command.required("on", command["on"]?.bool)
            return [:]
        case "gzip":
            site.usesGzip = try command.required("on", command["on"]?.bool)
            return [:]
        default: return nil
        }
    }

    private func put(_ command: JSONObject, _ now: Timestamp) throws(Failure) -> JSONObject {
        let id = try command.number("game") ?? site.board.freeGameID()
        var game = BoardGame(
            id: id, name: try command.text("name") ?? "Game \(id)",
            black: try command.required("black", command.number("black")),
            white: try command.required("white", command.number("white")), now: now)
        game.speed = try command.text("speed") ?? game.speed
        game.system = try command.text("system") ?? game.system
        game.expiration = now + game.timeToMove
        for _ in 0..<max(0, try command.number("moves") ?? 0) { game.move(now: now) }
        game.toMove = try command.number("to_move") ?? game.toMove
        game.overlay = try command.members("json") ?? [:]
        game.outerOverlay = try command.members("outer") ?? [:]
        game.missing = (command["without"]?.array ?? []).compactMap(\.string)
        let others = (command["others"]?.array ?? []).compactMap(\.integer)
        site.board.put(game, spectators: others)
        return state(of: game)
    }

    private func change(
        _ name: String, _ command: JSONObject, _ now: Timestamp
    ) throws(Failure) -> JSONObject {
        let player = try command.number("player")
        let id = try gameID(command, player, now)
        let kind = try command.text("kind") ?? "paused"
        let outcome = try command.text("outcome") ?? "Resignation"
        let key = try pauseKey(kind, player)
        if name == "accept", player == nil { throw badCommand("player is missing") }
        let game = try site.board.change(id) { game in
            switch name {
            case "move":
                // Afterwards it is the player's turn, whoever's it was before.
                if game.toMove == player { game.move(now: now) }
                game.move(now: now)
            case "pass": game.pass(now: now)
            case "accept": game.accept(player ?? 0)
            case "pause": game.pause(key.name, key.value, now: now)
            case "resume": game.resume(now: now)
            case "finish": game.finish(outcome)
            default: game.undo(now: now)
            }
        }
        return state(of: game)
    }

    /// The game that the command names, or the player's newest. For a move, a game is started if the player
    /// has none.
    private func gameID(
        _ command: JSONObject, _ player: Int64?, _ now: Timestamp
    ) throws(Failure) -> Int64 {
        if let id = try command.number("game") { return id }
        guard let player else { throw badCommand("game or player is missing") }
        if let game = site.board.games(of: player).last(where: { $0.phase != "finished" }) {
            return game.id
        }
        guard command["do"] == "move" else { throw badCommand("player \(player) has no game") }
        let id = site.board.freeGameID()
        site.board.put(
            BoardGame(
                id: id, name: try command.text("name") ?? "Game \(id)", black: 1_000_000 + player,
                white: player, now: now))
        return id
    }

    private func pauseKey(
        _ kind: String, _ player: Int64?
    ) throws(Failure) -> (name: String, value: JSONValue) {
        switch kind {
        case "weekend", "system": (kind, true)
        case "vacation": ("vacation-\(player ?? 0)", true)
        case "moderator": ("moderator_paused", ["moderator_id": 1])
        case "paused": ("paused", ["pausing_player_id": .integer(player ?? 0), "pauses_left": 4])
        default: throw badCommand("kind must be weekend, vacation, paused, moderator or system")
        }
    }

    private func state(of game: BoardGame) -> JSONObject {
        [
            "game": .integer(game.id), "moves": JSONValue(game.moves.count),
            "to_move": .integer(game.toMove), "last_move": JSONValue(game.lastMove),
            "phase": .string(game.phase),
        ]
    }
}
