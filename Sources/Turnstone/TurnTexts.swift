/// The texts of turn notices in one language, with `{placeholders}`.
package struct TurnTexts: Equatable, Sendable {
    /// By ``Name``.
    private var texts: [String]

    /// The texts, in the order of their values.
    package enum Name: Int, CaseIterable, Sendable {
        /// A notice's title.
        case title
        /// Its text for one game, and for two and more.
        case oneGame, games
        /// How far a game is.
        case firstMove, move, stoneRemoval
        /// The title of a game without a name.
        case game
        /// The title of several messages that are shown as one.
        case merged

        /// In files.
        package var text: String {
            switch self {
            case .title: "title"
            case .oneGame: "one_game"
            case .games: "games"
            case .firstMove: "first_move"
            case .move: "move"
            case .stoneRemoval: "stone_removal"
            case .game: "game"
            case .merged: "merged"
            }
        }

        /// The placeholder that the text must have once; `nil` if it has none.
        package var placeholder: String? {
            switch self {
            case .title, .firstMove, .stoneRemoval: nil
            case .oneGame: "{game}"
            case .games, .merged: "{count}"
            case .move, .game: "{number}"
            }
        }
    }

    /// The texts that are used if there are none in a player's language.
    package static let english = TurnTexts(texts: [
        "Your turn in Go!", "It's your turn in: {game}", "It's your turn in {count} games",
        "first move", "move {number}", "stone removal", "game {number}",
        "{count} new notifications",
    ])

    private init(texts: [String]) { self.texts = texts }

    /// The longest text, in bytes: a notice must fit into a push, with the names of players and games.
    private static let longest = 256

    /// Reads a file's texts. A text that is missing or that cannot be used is the English one.
    ///
    /// - Parameter problem: called with a sentence about each of those texts, and about each unknown one.
    package init(_ members: JSONObject, problem: (String) -> Void) {
        self = .english
        for name in Name.allCases {
            guard let value = members[name.text] else {
                problem("\(name.text) is missing")
                continue
            }
            guard let text = value.string, Self.isUsable(text, as: name) else {
                let rule = name.placeholder.map { " with \($0) in it once" } ?? " without { and }"
                problem(
                    "\(name.text) must be a text of at most \(Self.longest) bytes\(rule), on one line"
                )
                continue
            }
            texts[name.rawValue] = text
        }
        for member in members.members
        where !Name.allCases.contains(where: { $0.text == member.name }) {
            problem("\(member.name) is unknown")
        }
    }

    private static func isUsable(_ text: String, as name: Name) -> Bool {
        guard text.isVisible, text.utf8.count <= longest,
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            )
        else { return false }
        guard let placeholder = name.placeholder else {
            return !text.contains { "{}".contains($0) }
        }
        guard let (before, after) = text.split(at: placeholder) else { return false }
        return !(before + after).contains { "{}".contains($0) }
    }

    package subscript(name: Name) -> String { texts[name.rawValue] }

    /// A text with a value in the place of its placeholder.
    package func filled(_ name: Name, _ value: String) -> String {
        guard let placeholder = name.placeholder,
            let (before, after) = self[name].split(at: placeholder)
        else { return self[name] }
        return before + value + after
    }
}

extension String {
    /// The texts before and after the first occurrence of another one; `nil` if there is none.
    fileprivate func split(at mark: String) -> (before: String, after: String)? {
        let bytes = Array(utf8)
        let wanted = Array(mark.utf8)
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...(bytes.count - wanted.count)
        where bytes[start..<(start + wanted.count)].elementsEqual(wanted) {
            return (
                String(decoding: bytes[..<start], as: UTF8.self),
                String(decoding: bytes[(start + wanted.count)...], as: UTF8.self)
            )
        }
        return nil
    }
}
