// GET /diagnostics/{user_id}: shows what this installation knows about a player, for a screen in the app.
//
//   in    X-API-Key; ?details=true for what a page of games shows
//   out   200 {"user_id", "device_token_registered", "device_token_preview"?, "device_platform"?,
//         "device_stale"?: true if the app has not registered it for 270 days,
//         "last_notification_time": ms, 0 for never, "monitored_games":
//         [{"game_id", "last_move_timestamp": ms, "current_player", "is_your_turn", "game_name"}],
//         "total_active_games", "site"?: where the games are, "server_check_interval": "30s",
//         "last_server_check_time": seconds}
//   else  400 malformed, 401 unknown key, 403 another user's key, 404 unknown to Online-Go.com,
//         503 Online-Go.com does not answer or has asked for a pause

import Documents
import Edge
import Queueing
import Store
import Turns
import Turnstone

serve(
    Route("GET", "/diagnostics/{user_id}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let player = try request.player("user_id")
        let hasDetails = try request.hasDetails()
        guard player == caller else {
            throw .refused(.forbidden, "this key belongs to another user")
        }
        let interval = try state.checkInterval(request.variables)
        let looker = try Looker(request.variables, state: state, now: request.time)
        try state.registry.repair(player)
        let found = try looker.look(at: player, youngerThan: interval)
        if found.result.hasQueued {
            state.startDrainer(for: request)
        }
        let user = try state.users[player].read() ?? User()
        let devices = user.devices.filter { $0.kind == .device }

        var answer: JSONObject = [
            "user_id": .string("\(player)"),
            "device_token_registered": .bool(!devices.isEmpty),
        ]
        answer["device_token_preview"] = devices.first.map { .string($0.token.preview) }
        answer["device_platform"] = devices.first.map { .string($0.platform.rawValue) }
        answer["device_stale"] =
            devices.first?.isStale(at: request.time) == true ? .bool(true) : nil
        answer["last_notification_time"] = .integer(user.lastNotification?.milliseconds ?? 0)
        answer["monitored_games"] = .array(
            found.look.found.games.map { game in
                var members = summary(game, player)
                if hasDetails { members.add(game, player) }
                return .object(members)
            })
        answer["total_active_games"] = .integer(Int64(found.look.found.games.count))
        if hasDetails { answer["site"] = .string(try request.variables.ogsWebAddress().text) }
        answer["server_check_interval"] = .string("\(interval.seconds)s")
        answer["last_server_check_time"] = .integer(found.look.at.seconds)
        return .ok(.object(answer))
    })

extension Request {
    func hasDetails() throws(Failure) -> Bool {
        switch try query("details") {
        case nil, "false": return false
        case "true": return true
        default: throw .malformed("details must be true or false")
        }
    }
}

extension JSONObject {
    mutating func add(_ game: Game, _ player: PlayerID) {
        let end = game.phase == .stoneRemoval ? game.stoneRemovalExpiration : game.expiration
        self["opponent"] = game.opponent(of: player).map { .string($0) } ?? .null
        self["phase"] = .string(game.phase.name)
        self["paused"] = .bool(game.isPaused)
        self["expiration"] = .integer(end?.milliseconds ?? 0)
        self["board"] = game.board?.json
    }
}

func summary(_ game: Game, _ player: PlayerID) -> JSONObject {
    [
        "game_id": .integer(game.id),
        "last_move_timestamp": .integer(game.lastMove?.milliseconds ?? 0),
        "current_player": .integer(game.currentPlayer ?? 0),
        "is_your_turn": .bool(game.isTurn(of: player)),
        "game_name": .string(game.name),
    ]
}
