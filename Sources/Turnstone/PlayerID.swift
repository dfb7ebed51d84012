/// A player's number on Online-Go.com.
package struct PlayerID: Hashable, Comparable, Sendable {
    package let number: Int64

    /// A positive decimal number without a sign or leading zeros.
    package init?(_ text: String) {
        guard let first = text.utf8.first, first != UInt8(ascii: "0"), text.utf8.count <= 19,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(text)
        else { return nil }
        self.number = number
    }

    package init?(number: Int64) {
        guard number > 0 else { return nil }
        self.number = number
    }

    package static func < (left: PlayerID, right: PlayerID) -> Bool { left.number < right.number }
}

extension PlayerID: CustomStringConvertible {
    package var description: String { String(number) }
}
