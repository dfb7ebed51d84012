import JSON
import Turnstone

/// OGS's players and games.
struct Board {
    private(set) var names: [Int64: String] = [:]
    /// The players' own profile texts.
    private var abouts: [Int64: String] = [:]
    private(set) var games: [Int64: BoardGame] = [:]
    /// Answers that a command has set byte by byte, by player.
    private var rawAnswers: [Int64: [UInt8]] = [:]
    /// Each player's games, in the order of their creation.
    private var lists: [Int64: [Int64]] = [:]
    /// The last answer for each player. If nothing has changed, a request costs no more than its bytes.
    private var cachedAnswers: [Int64: [UInt8]] = [:]
    private var revision = 0
    private var changed: [Int64: Int] = [:]

    mutating func setPlayer(_ player: Int64, name: String?, about: String? = nil) {
        names[player] = name ?? names[player] ?? "player-\(player)"
        abouts[player] = about ?? abouts[player]
        for game in lists[player] ?? [] { touch(games[game]) }
        touch(player)
    }

    mutating func setRawAnswer(_ player: Int64, _ body: [UInt8]?) {
        rawAnswers[player] = body
        setPlayer(player, name: nil)
    }

    /// Adds a game, or replaces the one with its number.
    ///
    /// - Parameter spectators: further players in whose lists it is, as in rengo.
    mutating func put(_ game: BoardGame, spectators: [Int64] = []) {
        for player in [game.black, game.white] + spectators {
            if names[player] == nil { setPlayer(player, name: nil) }
            if lists[player]?.contains(game.id) != true {
                lists[player, default: []].append(game.id)
            }
            touch(player)
        }
        games[game.id] = game
        touch(game)
    }

    mutating func remove(_ game: Int64) {
        for (player, list) in lists where list.contains(game) {
            lists[player] = list.filter { $0 != game }
            touch(player)
        }
        games[game] = nil
    }

    mutating func change(
        _ id: Int64, _ work: (inout BoardGame) -> Void
    ) throws(Failure) -> BoardGame {
        guard var game = games[id] else { throw badCommand("there is no game \(id)") }
        work(&game)
        games[id] = game
        touch(game)
        return game
    }

    func games(of player: Int64) -> [BoardGame] {
        (lists[player] ?? []).compactMap { games[$0] }
    }

    func freeGameID() -> Int64 { (games.keys.max() ?? 1000) + 1 }

    private mutating func touch(_ game: BoardGame?) {
        guard let game else { return }
        for (player, list) in lists where list.contains(game.id) { touch(player) }
    }

    private mutating func touch(_ player: Int64) {
        cachedAnswers[player] = nil
        revision += 1
        changed[player] = revision
    }

    // MARK: Answers

    /// The answer of `/api/v1/players/{id}/full`; `nil` if there is no such player.
    mutating func full(_ player: Int64, without missing: String? = nil) -> [UInt8]? {
        guard let name = names[player] else { return nil }
        if let answer = rawAnswers[player] { return answer }
        if missing == nil, let answer = cachedAnswers[player] { return answer }
        // A finished game leaves the list.
        let active = games(of: player).filter { $0.phase != "finished" }
        var answer: JSONObject = [
            "user": .object(user(player, name)),
            "active_games": .array(active.map { $0.json(names: names) }),
            "ladders": [], "tournaments": [], "groups": [],
        ]
        if let missing {
            answer[missing] = nil
            return JSON.text(.object(answer))
        }
        let bytes = JSON.text(.object(answer))
        cachedAnswers[player] = bytes
        return bytes
    }

    private func user(_ player: Int64, _ name: String) -> JSONObject {
        [
            "id": .integer(player), "username": .string(name), "professional": false,
            "ranking": .number(24.5), "country": "un", "language": "auto",
            "about": .string(abouts[player] ?? ""), "supporter": false, "is_bot": false,
            "icon": "", "on_vacation": false,
        ]
    }

    /// The answer of `/api/v1/players/{id}`; `nil` if there is no such player.
    func profile(_ player: Int64) -> [UInt8]? {
        names[player].map { JSON.text(.object(user(player, $0))) }
    }

    /// The answer of `/api/v1/players?username=`: players of exactly that name, without what they wrote.
    func search(_ name: String) -> [UInt8] {
        let found = names.filter { $0.value.utf8.elementsEqual(name.utf8) }
            .sorted { $0.key < $1.key }
        return JSON.text([
            "count": .integer(Int64(found.count)), "next": .null, "previous": .null,
            "results": .array(
                found.map { (player, name) in
                    ["id": .integer(player), "username": .string(name), "ranking": 24]
                }),
        ])
    }

    /// A tag that changes when the player's answer changes.
    func entityTag(_ player: Int64) -> String { "\"\(player)-\(changed[player] ?? 0)\"" }
}
