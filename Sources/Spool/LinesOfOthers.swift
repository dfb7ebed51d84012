import JSON
import Turnstone

/// What is left of a notification's file without a user's devices.
struct LinesOfOthers {
    private(set) var text: [UInt8]
    /// How many lines were the user's, or 1 if the file is for the user alone.
    private(set) var count = 0
    /// Whether nothing is left for anybody.
    private(set) var isNothing = true

    /// - Parameter quoted: the user's id as JSON has it.
    init(_ file: [UInt8], besides user: UserID, _ quoted: [UInt8]) {
        let member = Array("\"user\":".utf8) + quoted
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let first = members(of: lines[0])
        text = Array(lines[0])
        // The spool alone writes these two members after each other.
        let ownStart = member + Array(",\"accepted_at\":".utf8)
        func isCut(_ line: ArraySlice<UInt8>) -> Bool {
            ends(line, with: member[...])
                || line.endIndex == file.endIndex && ends(line, with: member.dropLast())
        }
        if first.map({ Self.isUsers($0, user) })
            ?? (occurs(ownStart, in: lines[0]) || isCut(lines[0]))
        {
            count = 1
            return
        }
        // The devices of these numbers have lost the line that stood for them: an alternate does from now on.
        var open: Set<Int> = []
        var last: (end: Int, count: Int)?
        for line in lines.dropFirst() {
            let members = members(of: line)
            let isUsers =
                members.map { Self.isUsers($0, user) } ?? (occurs(member, in: line) || isCut(line))
            let delivery = isUsers || !open.isEmpty ? members.flatMap(Delivery.init) : nil
            if isUsers {
                count += 1
                if let delivery, !delivery.isAlternate { open.insert(delivery.number) }
            } else {
                text.append(UInt8(ascii: "\n"))
                if !line.isEmpty { isNothing = false }
                if var delivery, delivery.isAlternate, open.remove(delivery.number) != nil {
                    delivery.setAlternate(to: nil)
                    text += JSON.text(.object(delivery.members))
                } else {
                    text += LastLine.unmarked(line)
                }
            }
            // Another line may be the last one now.
            if let count = LastLine.count(in: line) { last = (text.count, count) }
        }
        if count == 0 { isNothing = false }
        if let last { LastLine.mark(&text, before: last.end, count: last.count - count) }
    }

    private static func isUsers(_ members: JSONObject, _ user: UserID) -> Bool {
        members["user"]?.string.flatMap(UserID.init) == user
    }
}

private func ends(_ line: ArraySlice<UInt8>, with bytes: ArraySlice<UInt8>) -> Bool {
    line.suffix(bytes.count).elementsEqual(bytes)
}

private func occurs(_ bytes: [UInt8], in line: ArraySlice<UInt8>) -> Bool {
    guard line.count >= bytes.count else { return false }
    for start in line.startIndex...(line.endIndex - bytes.count)
    where line[start..<(start + bytes.count)].elementsEqual(bytes) { return true }
    return false
}
