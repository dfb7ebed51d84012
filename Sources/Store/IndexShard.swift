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
        package let newest: Range<Int>
        /// The valid lines before it.
        package fileprivate(set) var others: [Range<Int>] = []

        package var lines: [Range<Int>] { [newest] + others }
    }

    /// Calls `body` with each valid line, the last one first.
    ///
    /// A hash of 64 bits stands for the user: two users of a file with the same one would have to be looked
    /// for.
    private func forEachValidLine(
        _ body: (_ line: Range<Int>, _ key: UInt64, _ isTentative: Bool) -> Void
    ) {
        let bytes = bytes.span
        let newline = UInt8(ascii: "\n")
        var closed = HashTable(capacity: bytes.count / 64)
        var end = bytes.count
        // Bytes after the last newline are a line that was not finished.
        while end > 0, bytes[end - 1] != newline { end -= 1 }
        while end > 0 {
            var start = end - 1
            while start > 0, bytes[start - 1] != newline { start -= 1 }
            let line = start..<end - 1
            end = start
            guard let name = IndexLine.endOfUser(in: bytes, line) else { continue }
            let key = Self.hash(bytes, line.lowerBound..<name)
            guard !closed.contains(key) else { continue }
            let isTentative = IndexLine.isTentative(in: bytes, line, after: name)
            if !isTentative { closed.insert(key) }
            body(line, key, isTentative)
        }
    }

    /// All users with a valid line.
    package func entries() -> [Entry] {
        var entries: [Entry] = []
        var tentative: [UInt64: Int] = [:]
        forEachValidLine { line, key, isTentative in
            if !tentative.isEmpty, let place = tentative[key] {
                entries[place].others.append(line)
            } else {
                if isTentative { tentative[key] = entries.count }
                entries.append(Entry(key: key, newest: line))
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
        guard let name = IndexLine.endOfUser(in: line.span, line.indices),
            let found = known[Self.hash(line.span, 0..<name)]
        else { return false }
        return bytes[found.lowerBound...found.upperBound].elementsEqual(line)
    }

    /// The users with one valid line, and those lines.
    func certainLines() -> [UInt64: Range<Int>] {
        var lines: [UInt64: Range<Int>] = [:]
        for entry in entries() where entry.others.isEmpty { lines[entry.key] = entry.newest }
        return lines
    }

    /// Whether a line contains some bytes.
    package func contains(_ needle: [UInt8], in line: Range<Int>) -> Bool {
        isInside(needle, bytes, line)
    }

    /// The user of a line; `nil` if the line is damaged.
    package func user(of line: Range<Int>) -> IndexedUser? { IndexLine.read(Array(bytes[line])) }

    /// FNV-1a.
    private static func hash(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for place in range { sum = (sum ^ UInt64(bytes[place])) &* 0x100_0000_01b3 }
        return sum
    }
}

/// A set of hashes, much faster than `Set` because they need no further hashing.
private struct HashTable {
    /// 0 for a free place.
    private var places: [UInt64]
    private var count = 0

    init(capacity: Int) {
        var size = 64
        while size < capacity * 2 { size *= 2 }
        places = [UInt64](repeating: 0, count: size)
    }

    private func place(of hash: UInt64) -> Int {
        // FNV's upper bits depend on all of the text, its lower bits less so.
        var place = Int(truncatingIfNeeded: hash ^ hash >> 32) & (places.count - 1)
        while places[place] != 0, places[place] != hash {
            place = (place + 1) & (places.count - 1)
        }
        return place
    }

    func contains(_ hash: UInt64) -> Bool { places[place(of: max(hash, 1))] != 0 }

    mutating func insert(_ hash: UInt64) {
        let hash = max(hash, 1)
        let place = place(of: hash)
        guard places[place] == 0 else { return }
        places[place] = hash
        count += 1
        guard count * 2 > places.count else { return }
        let known = places
        places = [UInt64](repeating: 0, count: known.count * 2)
        for hash in known where hash != 0 { places[self.place(of: hash)] = hash }
    }
}
