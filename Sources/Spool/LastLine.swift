import JSON
import Turnstone

/// The mark of a file's last line, which says how many lines the file has. Without it, nobody could see that a file
/// was cut where a line ends, or that a line is missing.
enum LastLine {
    private static let name = Array(#","last":"#.utf8)
    /// At most how many bytes longer the mark makes a line.
    static let longestMark = 32

    /// Makes a first line say that its file's last line has the mark. Earlier versions wrote none.
    static func announced(in members: JSONObject) -> JSONObject {
        var members = members
        members["has_last"] = true
        return members
    }

    static func isAnnounced(in members: JSONObject) -> Bool { members["has_last"]?.bool ?? false }

    /// How many lines the file has, as its last line says; `nil` for any other line.
    ///
    /// - Parameter line: without its end.
    static func count(in line: ArraySlice<UInt8>) -> Int? {
        guard line.last == UInt8(ascii: "}") else { return nil }
        let digits = line.dropLast().suffix(longestMark).reversed().prefix {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        guard line.dropLast(1 + digits.count).suffix(name.count).elementsEqual(name) else {
            return nil
        }
        return Int(String(decoding: digits.reversed(), as: UTF8.self))
    }

    /// A line without the mark that it has.
    static func unmarked(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard let count = count(in: line) else { return Array(line) }
        return line.dropLast(mark(count).count) + [UInt8(ascii: "}")]
    }

    /// Marks a line, unless it is not an object.
    ///
    /// - Parameters:
    ///   - end: where the line ends in the text.
    ///   - count: how many lines the file has.
    static func mark(_ text: inout [UInt8], before end: Int, count: Int) {
        guard text[..<end].last == UInt8(ascii: "}") else { return }
        text.replaceSubrange((end - 1)..<end, with: mark(count))
    }

    private static func mark(_ count: Int) -> [UInt8] { name + Array("\(count)}".utf8) }
}
