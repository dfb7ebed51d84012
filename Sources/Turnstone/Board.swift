/// A game's moves, from which the position can be drawn. Points are two letters each, as in SGF: `a` to `z`,
/// then `A` to `Z`, first the column from the left, then the row from the top. A pass is `..`.
package struct Board: Equatable, Sendable {
    package var width: Int64
    package var height: Int64
    /// The stones before the first move.
    package var black = ""
    package var white = ""
    /// Whether White moves first, as in a game with handicap stones.
    package var isWhiteFirst = false
    /// How many of the first moves are Black's handicap stones.
    package var handicapMoves: Int64 = 0
    package var moves = ""

    package init(width: Int64, height: Int64) {
        self.width = width
        self.height = height
    }

    /// The longest side that is drawn.
    package static let longestSide: Int64 = 52
    /// The most moves of a game that are kept, and the most stones before the first move.
    package static let mostMoves = 1000
}

extension Board {
    package init?(_ json: JSONValue) {
        guard let members = json.object, let width = members["width"]?.integer,
            let height = members["height"]?.integer,
            (1...Self.longestSide).contains(width), (1...Self.longestSide).contains(height)
        else { return nil }
        self.init(width: width, height: height)
        black = members["black"]?.string ?? ""
        white = members["white"]?.string ?? ""
        isWhiteFirst = members["first"]?.string == "white"
        handicapMoves = members["free"]?.integer ?? 0
        moves = members["moves"]?.string ?? ""
    }

    package var json: JSONValue {
        var members: JSONObject = ["width": .integer(width), "height": .integer(height)]
        if !black.isEmpty { members["black"] = .string(black) }
        if !white.isEmpty { members["white"] = .string(white) }
        if isWhiteFirst { members["first"] = "white" }
        if handicapMoves > 0 { members["free"] = .integer(handicapMoves) }
        members["moves"] = .string(moves)
        return .object(members)
    }
}
