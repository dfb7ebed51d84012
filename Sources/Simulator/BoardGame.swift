import Turnstone

/// One game of OGS, as far as moves and clocks go.
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
    /// Milliseconds since the move before, one for each move and pass.
    var moves: [Int64] = []
    /// Which of the moves are passes.
    var passes: Set<Int> = []
    var started: Timestamp
    var lastMove: Timestamp
    var expiration: Timestamp
    var pauses = JSONObject()
    var pausedSince: Timestamp?
    /// Who accepted the dead stones.
    var acceptedBy: Set<Int64> = []
    var outcome: String?
    /// Members that are put over those of the game's `json`.
    var overlay = JSONObject()
    /// The same for the element of `active_games` itself.
    var outerOverlay = JSONObject()
    /// Members that are taken out of `json`.
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

    /// What the player to move has, all told.
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

    /// Both pass, and the dead stones are to be agreed on.
    mutating func pass(now: Timestamp) {
        move(now: now, isPass: true)
        move(now: now, isPass: true)
        phase = "stone removal"
        acceptedBy = []
        pauses["stone-removal"] = true
        pausedSince = now
    }

    mutating func accept(_ player: Int64, now: Timestamp) {
        acceptedBy.insert(player)
        if acceptedBy.isSuperset(of: [black, white]) { finish("B+6.5 points") }
    }

    mutating func pause(_ key: String, _ value: JSONValue, now: Timestamp) {
        pauses[key] = value
        pausedSince = now
    }

    /// The clock goes on where it stood.
    mutating func resume(now: Timestamp) {
        if phase == "stone removal" { phase = "play" }
        // `paused_since` is left over, as at OGS, and says nothing once the pauses are gone.
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
