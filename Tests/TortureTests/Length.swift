import Foundation

/// How long the table of faults may take: a minute in all, or with `TURNSTONE_TORTURE=long` as long as it takes.
enum Length {
    static let isLong = ProcessInfo.processInfo.environment["TURNSTONE_TORTURE"] == "long"

    /// All of `moments`, or so many of them, spread evenly, the first and the last among them.
    static func sample<Moment>(_ moments: [Moment], few: Int) -> [Moment] {
        guard !isLong, moments.count > few else { return moments }
        return (0..<few).map { moments[$0 * (moments.count - 1) / (few - 1)] }
    }

    static func times(_ many: Int, few: Int) -> Int { isLong ? many : few }
}
