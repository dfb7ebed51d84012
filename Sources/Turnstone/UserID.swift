/// The owner of a device: an OGS player's number, or whatever an app's own backend calls its users.
///
/// Two ids are equal if their bytes are equal. Swift strings are also equal if Unicode calls them equivalent
/// (an é as one character, or as an e with an accent), but document names are made from bytes.
package struct UserID: Sendable {
    /// 1 to 128 bytes without NUL, neither `.` nor `..`: a path with one of them leads elsewhere, so nobody
    /// could look up or erase the user.
    package let text: String

    package static let form = "1 to 128 bytes without NUL, neither . nor .."

    package static let rule =
        "a user's id must have 1 to 128 bytes without NUL, and must not be . or .."

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), !text.utf8.contains(0), text != ".", text != ".."
        else { return nil }
        self.text = text
    }

    package init(_ player: PlayerID) {
        text = player.description
    }

    /// The player with this number, if it is one.
    package var player: PlayerID? { PlayerID(text) }

    /// The text as a file name: letters, digits, `-` and `_` stand for themselves, any other byte becomes `=`
    /// and its two hex digits. So no two users share a name, and no name leads elsewhere. It may be too long
    /// for a file system.
    package var fileName: String {
        // Nearly all ids are such names already.
        if text.utf8.allSatisfy(isPlain) { return text }
        var name: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                name.append(byte)
            } else {
                name += Array("=\(hex([byte]))".utf8)
            }
        }
        return String(decoding: name, as: UTF8.self)
    }
}

/// Whether a byte stands for itself in a file name.
private func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
    default: false
    }
}

extension UserID: Hashable {
    package static func == (left: UserID, right: UserID) -> Bool {
        haveEqualBytes(left.text, right.text)
    }

    package func hash(into hasher: inout Hasher) {
        let combined: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if combined == nil { for byte in text.utf8 { hasher.combine(byte) } }
    }
}

extension UserID: CustomStringConvertible {
    package var description: String { text }
}
