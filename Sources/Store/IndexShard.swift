import JSON
import Turnstone
import Unix

/// The lines of one file of the audience index, in memory.
package struct IndexShard {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private static let headStart = Array(#"{"valid_bytes":"#.utf8)

    /// The first line of a file that begins with these other lines.
    static func head(_ lines: [UInt8]) -> [UInt8] {
        let sum = hexSum(of: lines, in: lines.indices)
        return headStart + Array("\(lines.count),\"sum\":\"\(sum)\"}\n".utf8)
    }

    private static func hexSum(of bytes: [UInt8], in range: Range<Int>) -> String {
        let sum = Words.sum(of: bytes, in: range)
        return hex((0..<8).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) })
    }

    /// The size that a file had without its first line when it was last rewritten; 0 if this is no first
    /// line.
    ///
    /// - Parameter head: the beginning of the file.
    static func validSize(_ head: [UInt8]) -> Int {
        guard head.starts(with: headStart) else { return 0 }
        let digits = head.dropFirst(headStart.count).prefix { (48...57).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// Whether the file has its first line, then the bytes whose number and sum that states, and then only
    /// lines that look like those of users and have the right sums.
    var isSound: Bool {
        guard bytes.starts(with: Self.headStart),
            let head = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let members = Self.members(of: Array(bytes[..<head])),
            let size = members["valid_bytes"]?.count, size <= bytes.count - head - 1
        else { return false }
        var place = head + 1
        // An earlier version wrote no sum.
        if let sum = members["sum"] {
            let sealed = place..<(place + Int(size))
            guard .string(Self.hexSum(of: bytes, in: sealed)) == sum else { return false }
            place = sealed.upperBound
        }
        while let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) {
            guard IndexLine.isLine(bytes[place..<end]),
                IndexLine.hasRightSum(place..<end, in: bytes)
            else { return false }
            place = end + 1
        }
        return true
    }

    private static func members(of line: [UInt8]) -> JSONObject? {
        do throws(JSONError) { return try JSON.parse(line).object } catch { return nil }
    }

    /// A user with the valid lines: a certain one, or one or several if a program may have been killed during a
    /// commit.
    package struct Entry {
        package let newest: Range<Int>
        /// Whether the newest line is of a commit that has happened. Otherwise only the document tells, and there
        /// may be none.
        package let isCertain: Bool
        /// The valid lines before it.
        package fileprivate(set) var others: [Range<Int>] = []

        package var lines: [Range<Int>] { [newest] + others }
    }

    /// Calls `body` with each valid line, the last one first.
    private func forEachValidLine(
        _ body: (_ line: Range<Int>, _ user: Range<Int>, _ isTentative: Bool) -> Void
    ) {
        let bytes = bytes.span
        let newline = UInt8(ascii: "\n")
        var closed = NameTable(capacity: bytes.count / 64)
        var end = bytes.count
        // Bytes after the last newline are a line that was not finished.
        while end > 0, bytes[end - 1] != newline { end -= 1 }
        while end > 0 {
            var start = end - 1
            while start > 0, bytes[start - 1] != newline { start -= 1 }
            let line = start..<end - 1
            end = start
            guard let name = IndexLine.endOfUser(in: bytes, line) else { continue }
            let user = line.lowerBound..<name
            guard !closed.contains(user, bytes) else { continue }
            let isTentative = IndexLine.isTentative(in: bytes, line, after: name)
            if !isTentative { closed.insert(user, bytes) }
            body(line, user, isTentative)
        }
    }

    /// All users with a valid line.
    package func entries() -> [Entry] {
        var entries: [Entry] = []
        var tentative: [[UInt8]: Int] = [:]
        forEachValidLine { line, user, isTentative in
            if !tentative.isEmpty, let place = tentative[Array(bytes[user])] {
                entries[place].others.append(line)
            } else {
                if isTentative { tentative[Array(bytes[user])] = entries.count }
                entries.append(Entry(newest: line, isCertain: !isTentative))
            }
        }
        return entries
    }

    /// The same lines without those that are no longer valid, nor those that `isGone` names, and without the
    /// lines' own sums.
    func compacted(without isGone: (ArraySlice<UInt8>) -> Bool = { _ in false }) -> [UInt8] {
        var lines: [Range<Int>] = []
        forEachValidLine { line, _, _ in
            if !isGone(bytes[line]) { lines.append(line) }
        }
        var text: [UInt8] = []
        for line in lines.reversed() {
            text += bytes[IndexLine.content(of: line, in: bytes.span)]
            text += [UInt8(ascii: "}"), UInt8(ascii: "\n")]
        }
        return text
    }

    /// Whether the certain line of a user says the same as `line`.
    func says(_ line: [UInt8], _ known: [ArraySlice<UInt8>: Range<Int>]) -> Bool {
        guard let name = IndexLine.endOfUser(in: line.span, line.indices),
            let found = known[line[0..<name]], IndexLine.isLine(bytes[found])
        else { return false }
        return bytes[IndexLine.content(of: found, in: bytes.span)].elementsEqual(line.dropLast(2))
    }

    /// The users with a certain line, as lines name them, and those lines.
    func certainLines() -> [ArraySlice<UInt8>: Range<Int>] {
        var lines: [ArraySlice<UInt8>: Range<Int>] = [:]
        for entry in entries() where entry.isCertain {
            let line = entry.newest
            guard let name = IndexLine.endOfUser(in: bytes.span, line) else { continue }
            lines[bytes[line.lowerBound..<name]] = line
        }
        return lines
    }

    /// Whether a line contains some bytes.
    package func contains(_ needle: [UInt8], in line: Range<Int>) -> Bool {
        isInside(needle, bytes, line)
    }

    /// The user of a line; `nil` if the line is damaged.
    package func user(of line: Range<Int>) -> IndexedUser? { IndexLine.read(Array(bytes[line])) }

    /// The user of a line, also of one whose other members are damaged; `nil` if its name is damaged.
    package func name(of line: Range<Int>) -> UserID? {
        guard let end = IndexLine.endOfUser(in: bytes.span, line) else { return nil }
        return IndexLine.name(Array(bytes[line.lowerBound..<end]))
    }

    /// How many devices a line has.
    package func deviceCount(of line: Range<Int>) -> Int {
        IndexLine.deviceCount(in: bytes.span, line)
    }

    /// Calls `body` with each text of a line that may be a device's id.
    package func forEachDeviceID(of line: Range<Int>, _ body: (String) -> Void) {
        for place in IndexLine.deviceIDs(in: bytes.span, line) {
            body(String(decoding: bytes[place], as: UTF8.self))
        }
    }
}

/// A set of names, which are ranges of the same bytes. It is much faster than `Set`, which would copy each.
private struct NameTable {
    /// The names' beginnings and hashes; a beginning of -1 for a free place.
    private var places: [(start: Int32, hash: UInt32)]
    private var count = 0

    init(capacity: Int) {
        var size = 64
        while size < capacity * 2 { size *= 2 }
        places = Self.free(size)
    }

    private static func free(_ size: Int) -> [(start: Int32, hash: UInt32)] {
        [(start: Int32, hash: UInt32)](repeating: (-1, 0), count: size)
    }

    /// FNV-1a.
    private static func hash(_ name: Range<Int>, _ bytes: borrowing Span<UInt8>) -> UInt32 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for place in name { sum = (sum ^ UInt64(bytes[place])) &* 0x100_0000_01b3 }
        return UInt32(truncatingIfNeeded: sum ^ sum >> 32)
    }

    /// The place of a name, or the free one where it belongs. Of two names, none is the beginning of the
    /// other: both end with a quotation mark.
    private func place(
        of name: Range<Int>, _ hash: UInt32, _ bytes: borrowing Span<UInt8>
    ) -> Int {
        var place = Int(hash) & (places.count - 1)
        while places[place].start >= 0 {
            if places[place].hash == hash,
                isSame(bytes, Int(places[place].start), name)
            {
                return place
            }
            place = (place + 1) & (places.count - 1)
        }
        return place
    }

    private func isSame(
        _ bytes: borrowing Span<UInt8>, _ start: Int, _ name: Range<Int>
    ) -> Bool {
        guard start + name.count <= bytes.count else { return false }
        for offset in 0..<name.count
        where bytes[start + offset] != bytes[name.lowerBound + offset] { return false }
        return true
    }

    func contains(_ name: Range<Int>, _ bytes: borrowing Span<UInt8>) -> Bool {
        places[place(of: name, Self.hash(name, bytes), bytes)].start >= 0
    }

    mutating func insert(_ name: Range<Int>, _ bytes: borrowing Span<UInt8>) {
        let hash = Self.hash(name, bytes)
        let place = place(of: name, hash, bytes)
        guard places[place].start < 0 else { return }
        places[place] = (Int32(name.lowerBound), hash)
        count += 1
        guard count * 2 > places.count else { return }
        let known = places
        places = Self.free(known.count * 2)
        // All names differ, so the first free place is right.
        for entry in known where entry.start >= 0 {
            var place = Int(entry.hash) & (places.count - 1)
            while places[place].start >= 0 { place = (place + 1) & (places.count - 1) }
            places[place] = entry
        }
    }
}
