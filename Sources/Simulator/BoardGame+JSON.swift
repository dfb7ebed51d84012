import Turnstone

extension BoardGame {
    /// An element of `active_games`.
    func json(names: [Int64: String]) -> JSONValue {
        var data = gameData(names: names).joined(with: overlay)
        for name in missing { data[name] = nil }
        let outer: JSONObject = [
            "id": .integer(id), "name": .string(name), "width": 19, "height": 19,
            "black": person(black, names, isOuter: true),
            "white": person(white, names, isOuter: true),
            "time_per_move": isLive ? 20 : 86_400, "json": .object(data),
        ]
        return .object(outer.joined(with: outerOverlay))
    }

    private func person(_ id: Int64, _ names: [Int64: String], isOuter: Bool) -> JSONValue {
        var members: JSONObject = ["id": .integer(id), "username": .string(names[id] ?? "p\(id)")]
        if isOuter {
            members["ranking"] = .number(24.5)
            members["pro"] = false
            return .object(members)
        }
        members["rank"] = .number(24.5)
        members["professional"] = false
        if phase == "stone removal", acceptedBy.contains(id) {
            members["accepted_stones"] = .string(deadStones)
        }
        return .object(members)
    }

    private var deadStones: String { "aabb" }

    private func gameData(names: [Int64: String]) -> JSONObject {
        var data: JSONObject = [
            "game_id": .integer(id), "game_name": .string(name), "phase": .string(phase),
            "black_player_id": .integer(black), "white_player_id": .integer(white),
            "players": [
                "black": person(black, names, isOuter: false),
                "white": person(white, names, isOuter: false),
            ],
            "clock": .object(clock), "time_control": .object(timeControl),
            "moves": .array(moveList), "start_time": .integer(started.seconds),
            "initial_player": "black", "rules": "japanese", "komi": .number(6.5), "handicap": 0,
            "width": 19, "height": 19, "private": false, "ranked": true, "group_ids": [],
            "initial_state": ["black": "", "white": ""],
        ]
        if !pauses.members.isEmpty { data["pause_control"] = .object(pauses) }
        if let pausedSince { data["paused_since"] = JSONValue(pausedSince) }
        if phase == "stone removal" {
            data["removed"] = .string(deadStones)
            data["auto_scoring_done"] = true
        }
        if let outcome {
            data["outcome"] = .string(outcome)
            data["winner"] = .integer(black)
            data["end_time"] = .integer(lastMove.seconds)
        }
        return data
    }

    /// The moves fill the board line by line, so that a few hundred of them are all different.
    private var moveList: [JSONValue] {
        moves.enumerated().map { index, elapsed in
            let place = index % 361
            let point: [JSONValue] =
                passes.contains(index)
                ? [-1, -1] : [JSONValue(place % 19), JSONValue(place / 19)]
            return .array(point + [.integer(elapsed)])
        }
    }

    private var clock: JSONObject {
        var clock: JSONObject = [
            "game_id": .integer(id), "title": .string(name), "current_player": .integer(toMove),
            "black_player_id": .integer(black), "white_player_id": .integer(white),
            "last_move": JSONValue(lastMove), "expiration": JSONValue(expiration),
        ]
        if system != "none" {
            clock["black_time"] = time(of: black)
            clock["white_time"] = time(of: white)
        }
        if let pausedSince { clock["paused_since"] = JSONValue(pausedSince) }
        if phase == "stone removal" {
            clock["stone_removal_mode"] = true
            let patience: Interval = isLive ? .minutes(5) : .hours(24)
            clock["stone_removal_expiration"] = JSONValue(lastMove + patience)
        }
        return clock
    }

    private func time(of player: Int64) -> JSONValue {
        let left = JSONValue.integer((expiration - lastMove).milliseconds / 1000)
        switch system {
        case "simple": return player == toMove ? JSONValue(expiration) : 10
        case "byoyomi":
            return [
                "thinking_time": left, "periods": 3, "period_time": 30, "skip_bonus": false,
            ]
        case "canadian":
            return [
                "thinking_time": left, "moves_left": 10, "block_time": 600, "skip_bonus": false,
            ]
        default: return ["thinking_time": left, "skip_bonus": false]
        }
    }

    private var timeControl: JSONObject {
        let total = JSONValue.integer(timeToMove.milliseconds / 1000)
        var control: JSONObject = [
            "system": .string(system), "time_control": .string(system), "speed": .string(speed),
            "pause_on_weekends": true,
        ]
        let amounts: JSONObject =
            switch system {
            case "fischer": ["initial_time": total, "time_increment": 60, "max_time": total]
            case "byoyomi": ["main_time": total, "period_time": 30, "periods": 3]
            case "simple": ["per_move": total]
            case "canadian": ["main_time": total, "period_time": 600, "stones_per_period": 10]
            case "absolute": ["total_time": total]
            default: [:]
            }
        control = control.joined(with: amounts)
        return control
    }
}
