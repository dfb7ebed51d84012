import Turnstone

/// The mark of a file's last line. Without it, nobody could see that a file was cut where a line ends.
enum LastLine {
    /// The line's last member and its end.
    static let mark = Array(#","last":true}"#.utf8)

    /// Makes a first line say that its file's last line has the mark. Earlier versions wrote none.
    static func announced(in members: JSONObject) -> JSONObject {
        var members = members
        members["has_last"] = true
        return members
    }

    static func isAnnounced(in members: JSONObject) -> Bool { members["has_last"]?.bool ?? false }

    /// - Parameter line: without its end.
    static func isMarked(_ line: ArraySlice<UInt8>) -> Bool {
        line.suffix(mark.count).elementsEqual(mark)
    }

    /// Marks the last of some lines, unless it is not an object.
    ///
    /// - Parameter lines: without the end of the last one.
    static func mark(_ lines: inout [UInt8]) {
        guard lines.last == UInt8(ascii: "}") else { return }
        lines.removeLast()
        lines += mark
    }
}
