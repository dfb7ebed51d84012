import HTTP
import JSON
import Turnstone
import Unix

/// The same fetching and unpacking as a cycle's, with what comes thrown away.
func discard(_ address: String, count: Int64, authority: String) throws(Failure) {
    let fetcher = try Fetcher(
        Fetcher.Settings(
            userAgent: "bench-tool/1.0 (+https://github.com/turnstone/turnstone)",
            authorities: authority, bodyLimit: 64 << 20))
    var next: Int64 = 0
    var ended: Int64 = 0
    var underWay = 0
    while ended < count {
        while underWay < fetcher.capacity, next < count {
            try fetcher.submit(
                "\(address)/api/v1/players/\(1_000_000 + next)/full", tag: Int(next),
                entityTag: nil,
                patience: .seconds(20))
            next += 1
            underWay += 1
        }
        for fetched in fetcher.step(pause: .seconds(1)) {
            underWay -= 1
            ended += 1
            guard case .answered(let answer) = fetched.result, answer.status == 200 else {
                throw Failure(.broken, "a request failed: \(fetched.result)", cause: "bench")
            }
        }
    }
}

/// Answers of the shape that Online-Go.com gives, with nobody's data in them.
func writeAnswers(in folder: String, count: Int64) throws(Failure) {
    var dice = Dice(state: 2026)
    for number in 0..<count {
        let games = 16 + number * 52 / max(1, count - 1)
        let answer: JSONValue = [
            "user": ["id": .integer(number), "username": "somebody", "ranking": .number(24.3)],
            "active_games": .array((0..<games).map { _ in game(&dice) }),
            "ladders": [], "tournaments": [], "titles": [],
        ]
        let digits = number < 10 ? "0\(number)" : "\(number)"
        do throws(SystemError) {
            try Files.replace("\(folder)/\(digits).json", with: JSON.text(answer), durably: false)
        } catch { throw error.failure }
    }
}

private func game(_ dice: inout Dice) -> JSONValue {
    let id = dice.roll(90_000_000)
    let moves = (0..<(150 + dice.roll(200))).map { _ in
        JSONValue.array([
            .integer(dice.roll(19)), .integer(dice.roll(19)), .integer(dice.roll(900_000)),
        ])
    }
    let last: JSONValue = .integer(1_700_000_000_000 + dice.roll(90_000_000_000))
    let time: JSONValue = ["thinking_time": .number(268_331.737), "skip_bonus": false]
    return [
        "id": .integer(id), "name": .string("Friendly match \(id)"), "width": 19, "height": 19,
        "black": [
            "id": 1, "username": "one", "country": "un", "icon": "https://example.org/1.png",
        ],
        "white": [
            "id": 2, "username": "two", "country": "un", "icon": "https://example.org/2.png",
        ],
        "json": [
            "white_player_id": 2, "black_player_id": 1, "game_id": .integer(id), "private": false,
            "game_name": .string("Friendly match \(id)"), "ranked": true, "rules": "japanese",
            "time_control": [
                "system": "fischer", "speed": "correspondence", "pause_on_weekends": true,
                "time_increment": 86_400, "initial_time": 259_200, "max_time": 604_800,
            ],
            "phase": "play", "moves": .array(moves), "initial_state": ["black": "", "white": ""],
            "clock": [
                "game_id": .integer(id), "current_player": 2, "black_player_id": 1,
                "white_player_id": 2, "last_move": last, "expiration": last, "black_time": time,
                "white_time": time,
            ],
            "pause_control": [:],
        ],
    ]
}

/// The same numbers in every run (Knuth's MMIX generator).
private struct Dice {
    var state: UInt64

    mutating func roll(_ sides: Int64) -> Int64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(state >> 33) % sides
    }
}
