import Documents
import Turnstone

/// The result of the last look at a player's games: a cache from which `check` and `diagnostics` answer.
package struct Look: Document {
    package static var version: Int64 { 1 }

    package var found = ActiveGames()
    /// When the look that wrote this began. The player index may know of later looks that found the same.
    package var at = Timestamp(milliseconds: 0)
    private var unknown = JSONObject()

    package init() {}

    package init(_ found: ActiveGames, at time: Timestamp) {
        self.found = found
        at = time
    }

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let time = members.take("at")?.timestamp, let games = members.take("games")?.array
        else { return nil }
        at = time
        for element in games {
            guard let game = element.object.flatMap(Game.init) else { return nil }
            found.games.append(game)
        }
        found.skipped = Int(members.take("skipped")?.count ?? 0)
        unknown = members.rest
    }

    package var members: JSONObject {
        let members: JSONObject = [
            "at": JSONValue(at), "skipped": .integer(Int64(found.skipped)),
            "games": .array(found.games.map { .object($0.members) }),
        ]
        return members.adding(unknown)
    }
}

extension Game {
    fileprivate init?(_ members: JSONObject) {
        guard let id = members["id"]?.integer else { return nil }
        self.init(id: id)
        name = members["name"]?.string ?? ""
        phase = Phase(members["phase"]?.string ?? "")
        currentPlayer = members["current_player"]?.integer
        moveCount = members["moves"]?.integer.map { Int($0) }
        lastMove = members["last_move"]?.timestamp
        expiration = members["expiration"]?.timestamp
        stoneRemovalExpiration = members["stone_removal_expiration"]?.timestamp
        pauseKeys = members["pauses"]?.texts ?? []
        speed = members["speed"]?.string.map { Speed($0) }
        secondsPerMove = members["time_per_move"]?.integer
        removedStones = members["removed"]?.string
        black = Seat(members["black"]?.object ?? [:])
        white = Seat(members["white"]?.object ?? [:])
        board = members["board"].flatMap(Board.init)
    }

    fileprivate var members: JSONObject {
        var members: JSONObject = ["id": .integer(id), "name": .string(name)]
        members["phase"] = .string(phase.name)
        members["current_player"] = currentPlayer.map { .integer($0) }
        members["moves"] = moveCount.map { .integer(Int64($0)) }
        members["last_move"] = lastMove.map { JSONValue($0) }
        members["expiration"] = expiration.map { JSONValue($0) }
        members["stone_removal_expiration"] = stoneRemovalExpiration.map { JSONValue($0) }
        if !pauseKeys.isEmpty { members["pauses"] = JSONValue(texts: pauseKeys) }
        members["speed"] = speed.map { .string($0.name) }
        members["time_per_move"] = secondsPerMove.map { .integer($0) }
        members["removed"] = removedStones.map { .string($0) }
        members["black"] = .object(black.members)
        members["white"] = .object(white.members)
        members["board"] = board?.json
        return members
    }
}

extension Game.Seat {
    fileprivate init(_ members: JSONObject) {
        self.init()
        id = members["id"]?.integer
        name = members["name"]?.string
        acceptedStones = members["accepted"]?.string
        team = (members["team"]?.array ?? []).compactMap { $0.integer }
    }

    fileprivate var members: JSONObject {
        var members = JSONObject()
        members["id"] = id.map { .integer($0) }
        members["name"] = name.map { .string($0) }
        members["accepted"] = acceptedStones.map { .string($0) }
        if !team.isEmpty { members["team"] = .array(team.map { .integer($0) }) }
        return members
    }
}

extension Game.Speed {
    fileprivate var name: String {
        switch self {
        case .blitz: "blitz"
        case .rapid: "rapid"
        case .live: "live"
        case .correspondence: "correspondence"
        case .other(let name): name
        }
    }
}
