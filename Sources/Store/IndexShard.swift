import Turnstone
import Unix

/// The lines of one file of the audience index, in memory.
package struct IndexShard {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A user with the valid lines: one, or several if a program may have been killed during a commit.
    package struct Entry {
        /// The hash of the user's name as the lines have it.
        fileprivate let key: UInt64
        /// Newest first.
        package fileprivate(set) var lines: [Range<Int>]
    }

    /// Calls `body` with each line, the last one first, and whether a newer line of the same user is valid.
    ///
    /// A hash of 64 bits stands for the user: two users of a file with the same one would have to be looked
    /// for.
    private func forEachValidLine(
        _ body: (_ line: Range<Int>, _ key: UInt64, _ isTentative: Bool) -> Void
    ) {
        var closed = Set<UInt64>()
        var end = bytes.count
        // Bytes after the last newline are a line that was not finished.
        while end > 0, bytes[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        while end > 0 {
            var start = end - 1
            while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
            let line = start..<end - 1
            end = start
            guard let name = IndexLine.endOfUser(in: bytes[line]) else { continue }
            let key = hash(line.lowerBound..<name)
            guard !closed.contains(key) else { continue }
            let isTentative = IndexLine.isTentative(bytes[line], after: name)
            if !isTentative { closed.insert(key) }
            body(line, key, isTentative)
        }
    }

    /// All users with a valid line.
    package func entries() -> [Entry] {
        var entries: [Entry] = []
        var tentative: [UInt64: Int] = [:]
        forEachValidLine { line, key, isTentative in
            if let place = tentative[key] {
                entries[place].lines.append(line)
            } else {
                if isTentative { tentative[key] = entries.count }
                entries.append(Entry(key: key, lines: [line]))
            }
        }
        return entries
    }

    /// The same lines without those that are no longer valid, nor those that `isGone` names.
    func compacted(without isGone: (ArraySlice<UInt8>) -> Bool = { _ in false }) -> [UInt8] {
        var lines: [Range<Int>] = []
        forEachValidLine { line, _, _ in
            if !isGone(bytes[line]) { lines.append(line) }
        }
        var text: [UInt8] = []
        for line in lines.reversed() { text += bytes[line.lowerBound...line.upperBound] }
        return text
    }

    /// Whether the only valid line of a user says the same as `line`.
    func says(_ line: [UInt8], _ known: [UInt64: Range<Int>]) -> Bool {
        guard let name = IndexLine.endOfUser(in: line[...]),
            let found = known[Self.hash(line, 0..<name)]
        else { return false }
        return bytes[found.lowerBound...found.upperBound].elementsEqual(line)
    }

    /// The users with one valid line, and those lines.
    func certainLines() -> [UInt64: Range<Int>] {
        var lines: [UInt64: Range<Int>] = [:]
        for entry in entries() where entry.lines.count == 1 { lines[entry.key] = entry.lines[0] }
        return lines
    }

    /// Whether a line contains some bytes.
    package func contains(_ needle: [UInt8], in line: Range<Int>) -> Bool {
        isInside(needle, bytes, line)
    }

    /// The user of a line; `nil` if the line is damaged.
    package func user(of line: Range<Int>) -> IndexedUser? { IndexLine.read(Array(bytes[line])) }

    private func hash(_ range: Range<Int>) -> UInt64 { Self.hash(bytes, range) }

    /// FNV-1a.
    private static func hash(_ bytes: [UInt8], _ range: Range<Int>) -> UInt64 {
        bytes.withUnsafeBufferPointer { bytes in
            var sum: UInt64 = 0xcbf2_9ce4_8422_2325
            for place in range { sum = (sum ^ UInt64(bytes[place])) &* 0x100_0000_01b3 }
            return sum
        }
    }
}
