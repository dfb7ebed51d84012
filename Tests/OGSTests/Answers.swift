import JSON
import OGS
import Testing
import Turnstone

let me = PlayerID(number: 42)!
let opponent: Int64 = 7

/// OGS's answer to `GET /api/v1/players/42/full`, as its web client declares it.
func answer(_ games: [JSONValue]) -> [UInt8] {
    JSON.text([
        "user": [
            "id": 42, "username": "player-42", "professional": false, "ranking": .number(24.3),
            "about": "said \"]}\" \\ once", "is_bot": false, "vacation_left": 2_592_000,
        ],
        "active_games": .array(games),
        "ladders": [], "tournaments": [], "titles": [],
        "vs": ["wins": 0, "losses": 0, "draws": 0, "history": []],
        "block": ["block_chat": false, "block_games": false],
    ])
}

/// A correspondence game in which I am black and to move, with 37 moves.
func game(_ id: Int64, _ change: (inout JSONValue) -> Void = { _ in }) -> JSONValue {
    var game: JSONValue = [
        "id": .integer(id), "name": .string("Game \(id)"), "width": 19, "height": 19,
        "black": person(42), "white": person(7),
        "json": [
            "white_player_id": 7, "black_player_id": 42, "group_ids": [],
            "game_id": .integer(id), "game_name": .string("Inner name"), "private": false,
            "pause_on_weekends": true,
            "players": [
                "black": [
                    "rank": .number(27.65), "professional": false, "id": 42,
                    "username": "player-42",
                ],
                "white": [
                    "rank": .number(17.75), "professional": false, "id": 7, "username": "player-7",
                ],
            ],
            "ranked": false, "handicap": 0, "komi": .number(6.5), "rules": "japanese",
            "time_control": [
                "system": "fischer", "time_control": "fischer", "speed": "correspondence",
                "pause_on_weekends": true, "time_increment": 86400, "initial_time": 259200,
                "max_time": 604800,
            ],
            "phase": "play", "initial_player": "black", "moves": moves(37),
            "initial_state": ["black": "", "white": ""], "start_time": 1_700_000_000,
            "clock": [
                "game_id": .integer(id), "current_player": 42, "black_player_id": 42,
                "white_player_id": 7, "title": "Inner name", "last_move": 1_700_000_500_340,
                "expiration": 1_700_605_300_340,
                "black_time": ["thinking_time": .number(268331.737), "skip_bonus": false],
                "white_time": ["thinking_time": 604800, "skip_bonus": false],
            ],
            "pause_control": [:],
        ],
        "time_per_move": 89280,
    ]
    change(&game)
    return game
}

func person(_ id: Int64) -> JSONValue {
    [
        "id": .integer(id), "username": .string("player-\(id)"),
        "ratings": [
            "version": 5,
            "overall": ["rating": .number(1500.5), "deviation": 350, "volatility": .number(0.06)],
        ],
        "ranking": .number(24.303382182144386), "pro": false,
    ]
}

func moves(_ count: Int) -> JSONValue {
    .array(
        (0..<count).map {
            [
                .integer(Int64($0 % 19)), .integer(Int64($0 / 19)),
                .number(JSONNumber(Double($0) + 0.5)),
            ]
        })
}

extension JSONValue {
    /// The member at a path such as `json.clock.last_move`; setting `nil` removes it.
    subscript(path: String) -> JSONValue? {
        get {
            path.split(separator: ".").reduce(self as JSONValue?) { $0?.object?[String($1)] }
        }
        set {
            let names = path.split(separator: ".").map(String.init)
            set(names[...], newValue)
        }
    }

    private mutating func set(_ names: ArraySlice<String>, _ value: JSONValue?) {
        guard let name = names.first, var members = object else { return }
        if names.count == 1 {
            members[name] = value
        } else if var inner = members[name] {
            inner.set(names.dropFirst(), value)
            members[name] = inner
        }
        self = .object(members)
    }
}

/// A change to a game, with the name that a failure shows.
struct Change: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let make: @Sendable (inout JSONValue) -> Void

    init(_ name: String, _ make: @escaping @Sendable (inout JSONValue) -> Void) {
        testDescription = name
        self.make = make
    }

    /// Sets the member at a path, or removes it.
    init(_ path: String, _ value: JSONValue?) {
        self.init(
            "\(path) = \(value.map { String(decoding: JSON.text($0), as: UTF8.self) } ?? "nothing")"
        ) {
            $0[path] = value
        }
    }
}

/// The one game of an answer, after a change.
func scanned(_ change: (inout JSONValue) -> Void) throws -> Game {
    let found = try #require(ActiveGames(answer: answer([game(1, change)])))
    #expect(found.skipped == 0)
    return try #require(found.games.first)
}
