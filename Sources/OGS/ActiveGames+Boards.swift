import JSON
import Turnstone

extension ActiveGames {
    /// The same with the games' boards, read from ``answer`` once more: only a look that found something new
    /// needs them. A game whose moves make no sense has none.
    package func withBoards() -> ActiveGames {
        var boards: [Int64: Board] = [:]
        var scanner = JSONScanner(answer.bytes)
        do throws(JSONScanner.Malformed) {
            try scanner.forEachMember { (scanner, name) throws(JSONScanner.Malformed) in
                guard "active_games" ~= name, scanner.isArray() else { return try scanner.skip() }
                try scanner.forEachElement { (scanner) throws(JSONScanner.Malformed) in
                    guard let (game, board) = try scanner.board() else { return }
                    boards[game] = board
                }
            }
        } catch {}  // what was read is true
        var all = self
        all.answer.bytes = []
        for place in all.games.indices {
            all.games[place].board = boards[all.games[place].id] ?? all.games[place].board
        }
        return all
    }
}

/// The members that make a board, as they come.
private struct BoardDraft {
    var id: Int64?
    var innerID: Int64?
    var width: Int64?
    var height: Int64?
    var black = ""
    var white = ""
    var first = ""
    var handicap: Int64 = 0
    var moves: [UInt8]? = []

    var finished: (Int64, Board)? {
        let sides = 1...Board.longestSide
        guard let id = id ?? innerID, let width, let height, sides.contains(width),
            sides.contains(height),
            let moves, arePoints(black), arePoints(white)
        else { return nil }
        var board = Board(width: width, height: height)
        board.black = black
        board.white = white
        board.isWhiteFirst = first == "white"
        // OGS states fixed handicap stones as the initial state. Free ones are the first moves.
        if handicap > 1, black.isEmpty, !board.isWhiteFirst { board.handicapMoves = handicap }
        board.moves = String(decoding: moves, as: UTF8.self)
        return (id, board)
    }

    private func arePoints(_ text: String) -> Bool {
        text.utf8.count <= Board.mostMoves * 2 && text.utf8.count % 2 == 0
            && text.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) }
    }

    /// Adds a move; one that is not on the board is a pass.
    mutating func addMove(_ x: Int64, _ y: Int64) {
        guard let count = moves?.count, count < Board.mostMoves * 2 else { return moves = nil }
        let sides = 0..<Board.longestSide
        let isPass = !sides.contains(x) || !sides.contains(y)
        moves?.append(isPass ? UInt8(ascii: ".") : letter(x))
        moves?.append(isPass ? UInt8(ascii: ".") : letter(y))
    }
}

/// The letter for a column or a row.
private func letter(_ number: Int64) -> UInt8 {
    UInt8(number < 26 ? 97 + number : 65 + number - 26)
}

extension JSONScanner {
    fileprivate mutating func board() throws(Malformed) -> (Int64, Board)? {
        guard isObject() else {
            try skip()
            return nil
        }
        var draft = BoardDraft()
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "id": draft.id = try scanner.integer()
            case "json": try scanner.boardData(&draft)
            default: try scanner.skip()
            }
        }
        return draft.finished
    }

    private mutating func boardData(_ draft: inout BoardDraft) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "game_id": draft.innerID = try scanner.integer()
            case "width": draft.width = try scanner.integer()
            case "height": draft.height = try scanner.integer()
            case "handicap": draft.handicap = try scanner.integer() ?? 0
            case "initial_player": draft.first = try scanner.text() ?? ""
            case "initial_state": try scanner.initialState(&draft)
            case "moves": try scanner.moves(&draft)
            default: try scanner.skip()
            }
        }
    }

    private mutating func initialState(_ draft: inout BoardDraft) throws(Malformed) {
        guard isObject() else { return try skip() }
        try forEachMember { (scanner, name) throws(Malformed) in
            switch name {
            case "black": draft.black = try scanner.text() ?? ""
            case "white": draft.white = try scanner.text() ?? ""
            default: try scanner.skip()
            }
        }
    }

    private mutating func moves(_ draft: inout BoardDraft) throws(Malformed) {
        guard isArray() else {
            draft.moves = nil
            return try skip()
        }
        try forEachElement { (scanner) throws(Malformed) in
            if let (x, y) = scanner.smallPair() { return draft.addMove(x, y) }
            guard scanner.isArray() else {
                draft.moves = nil
                return try scanner.skip()
            }
            var numbers: [Int64?] = []
            try scanner.forEachElement { (scanner) throws(Malformed) in
                guard numbers.count < 2 else { return try scanner.skip() }
                numbers.append(try scanner.integer())
            }
            guard numbers.count == 2 else { return draft.moves = nil }
            draft.addMove(numbers[0] ?? -1, numbers[1] ?? -1)
        }
    }
}
