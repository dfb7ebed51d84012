import Documents
import Turnstone
import Unix

/// Version 1 of `players.index`, which all programs shared: the players who were looked at. Records of 128
/// bytes, and a header of the same size.
struct FirstPlayerIndex {
    private let bytes: [UInt8]
    private static let size = 128

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "TSPLAYR1".utf8) }

    /// Makes a mark of each record of a player with a document, unless there is one. A crash in between leaves
    /// the index, and the next cycle goes on. The marks are durable when this returns.
    func makeMarks(in state: State) throws(Failure) {
        let words = Words.all(in: bytes)
        let wordCount = Self.size / 8
        var folders: Set<String> = []
        for first in stride(from: wordCount, through: words.count - wordCount, by: wordCount) {
            guard words[first + 1] == 1, let player = PlayerID(number: words[first]),
                try systemCalls(Files.exists(state.users[player].path))
            else { continue }
            let tag = Array(bytes[first * 8 + 64..<first * 8 + 120])
            let mark = WatchMark(record: words[first..<first + wordCount], tag: tag)
            try state.watch.make(player, mark, durably: false)
            folders.insert(Files.parent(of: state.watch.path(of: player)))
        }
        for folder in folders { try systemCalls(Files.synchronizeFolder(folder)) }
    }
}
