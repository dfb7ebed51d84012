import Turnstone

/// A game on OGS, reduced to its moves and clocks.
struct BoardGame {
    let id: Int64
    var name: String
    var black: Int64
    var white: Int64
    var phase = "play"
    /// `blitz`, `rapid`, `live` or `correspondence`.
    var speed = "correspondence"
    /// `fischer`, `byoyomi`, `simple`, `canadian`, `absolute` or `none`.
    var system = "fischer"
    var toMove: Int64
    /// For each move and pass, the milliseconds since the previous one.
    var moves: [Int64] = []
    /// The indexes of the moves that are passes.
    var passes: Set<Int> = []
    var started: Timestamp
    var lastMove: Timestamp
    var expiration: Timestamp
    var pauses = JSONObject()
    var pausedSince: Timestamp?
    /// The players who have accepted the dead stones.
    var acceptedBy: Set<Int64> = []
    var outcome: String?
    /// Members that replace those of the game's `json`.
    var overlay = JSONObject()
    /// The same for the element of `active_games`.
    var outerOverlay = JSONObject()
    /// The names of members to remove from `json`.
    var missing: [String] = []

    init(id: Int64, name: String, black: Int64, white: Int64, now: Timestamp) {
        self.id = id
        self.name = name
        self.black = black
        self.white = white
        toMove = black
        started = Timestamp(seconds: now.seconds)
        lastMove = started
        expiration = started
        expiration = now + timeToMove
    }

    func other(than player: Int64) -> Int64 { player == black ? white : black }

    var isLive: Bool { speed != "correspondence" }

    /// The total time of the player to move.
    var timeToMove: Interval {
        if system == "none" { return .days(365) }
        return isLive ? .minutes(10) : .days(system == "simple" ? 3 : 7)
    }

    // MARK: What players do

    mutating func move(now: Timestamp, isPass: Bool = false) {
        if isPass { passes.insert(moves.count) }
        moves.append(max(0, (now - lastMove).milliseconds))
        lastMove = now
        toMove = other(than: toMove)
        expiration = now + timeToMove
    }

    /// Makes both players pass, which starts stone removal.
    mutating func pass(now: Timestamp) {
        move(now: now, isPass: true)
        move(now: now, isPass: true)
        phase = "stone removal"
        acceptedBy = []
        pauses["stone-removal"] = true
        pausedSince = now
    }

    mutating func accept(_ player: Int64) {
        acceptedBy.insert(player)
        if acceptedBy.isSuperset(of: [black, white]) { finish("B+6.5 points") }
    }

    mutating func pause(_ key: String, _ value: JSONValue, now: Timestamp) {
        pauses[key] = value
        pausedSince = now
    }

    /// Restarts the clock where it stopped.
    mutating func resume(now: Timestamp) {
        if phase == "stone removal" { phase = "play" }
        // As on OGS, `paused_since` remains but means nothing after the pauses have ended.
        if let pausedSince, !pauses.members.isEmpty {
            expiration = expiration + (now - pausedSince)
        }
        pauses = [:]
        acceptedBy = []
    }

    mutating func finish(_ outcome: String) {
        phase = "finished"
        self.outcome = outcome
    }

    mutating func undo(now: Timestamp) {
        guard let taken = moves.popLast() else { return }
        passes.remove(moves.count)
        lastMove = lastMove - Interval(milliseconds: taken)
        toMove = other(than: toMove)
        expiration = now + timeToMove
    }
}
