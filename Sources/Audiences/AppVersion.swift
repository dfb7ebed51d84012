/// An app's version, such as `3.10.2`. Its parts are compared as numbers: 3.10 is newer than 3.9.
struct AppVersion: Comparand {
    /// The digits at the start of each part, without leading zeros, and what follows them.
    private let parts: [(number: [UInt8], rest: [UInt8])]

    init(_ text: String) {
        var parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { (part) -> (number: [UInt8], rest: [UInt8]) in
                let digits = part.prefix { (48...57).contains($0) }
                return (Array(digits.drop { $0 == 48 }), Array(part.dropFirst(digits.count)))
            }
        // 3.0 is 3.
        while let last = parts.last, last.number.isEmpty, last.rest.isEmpty { parts.removeLast() }
        self.parts = parts
    }

    func fits(_ stated: AppVersion) -> Bool { self == stated }

    /// A part with something after its digits is before the one without: 2-beta is before 2.
    func isLess(than other: AppVersion) -> Bool {
        for place in 0..<max(parts.count, other.parts.count) {
            let (left, right) = (part(place), other.part(place))
            guard left.number == right.number else {
                return left.number.count == right.number.count
                    ? left.number.lexicographicallyPrecedes(right.number)
                    : left.number.count < right.number.count
            }
            guard left.rest == right.rest else {
                if left.rest.isEmpty || right.rest.isEmpty { return right.rest.isEmpty }
                return left.rest.lexicographicallyPrecedes(right.rest)
            }
        }
        return false
    }

    private func part(_ place: Int) -> (number: [UInt8], rest: [UInt8]) {
        place < parts.count ? parts[place] : ([], [])
    }

    static func == (left: AppVersion, right: AppVersion) -> Bool {
        left.parts.count == right.parts.count
            && zip(left.parts, right.parts).allSatisfy {
                $0.number == $1.number && $0.rest == $1.rest
            }
    }
}
