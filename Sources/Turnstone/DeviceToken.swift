/// A push service's token: the address of one app on one device, and as good as a key to it.
package struct DeviceToken: Hashable, Sendable {
    /// Of APNs: lower-case hex, 2 to 512 digits, an even number of them. Of another push service: as it came.
    package let text: String

    /// An APNs token, in any case. Apple states no length: tokens of 64, 106 and 160 digits have been seen.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        guard (2...512).contains(digits.count), digits.count % 2 == 0 else { return nil }
        guard let lowered = lowercaseHex(digits) else { return nil }
        self.text = lowered
    }

    /// A token of the platform's push service. Google states no form of its own: visible ASCII is taken, 1 to
    /// 4096 letters.
    package init?(_ text: String, on platform: Platform) {
        guard platform == .android else {
            self.init(text)
            return
        }
        guard (1...4096).contains(text.utf8.count),
            text.utf8.allSatisfy({ (33...126).contains($0) })
        else { return nil }
        self.init(unchanged: text)
    }

    private init(unchanged text: String) {
        self.text = text
    }

    /// The tokens that a text may stand for where nobody says which platform's it is.
    package static func all(named text: String) -> [DeviceToken] {
        var tokens: [DeviceToken] = []
        for platform in [Platform.android, .ios] {
            guard let token = DeviceToken(text, on: platform), !tokens.contains(token) else {
                continue
            }
            tokens.append(token)
        }
        return tokens
    }

    /// An APNs token's digits.
    package var hex: String { text }

    /// The first 16 digits and `...`, as diagnostics shows a token to its owner.
    package var preview: String { firstDigits(16, of: text) + "..." }
}

extension DeviceToken: CustomStringConvertible {
    /// The first eight digits: a whole token in a log lets its reader push to someone.
    package var start: String { firstDigits(8, of: text) }

    package var description: String { "\(start)…" }
}

/// A player's number on Online-Go.com.
package struct PlayerID: Hashable, Comparable, Sendable {
    package let number: Int64

    /// A positive decimal number without sign or leading zeros.
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

/// Where APNs knows a token: the two do not know each other's.
package enum APNsEnvironment: String, Sendable {
    case development
    case production

    package var other: APNsEnvironment { self == .development ? .production : .development }
}
