import Foundation

// What these tests do not try: a power cut, after which a disk forgets what was never synced; two machines with
// a file system between them; and the system's own clock jumping in the middle of a run, since `TURNSTONE_NOW`
// stands still during one. The gateway's clock does jump under a running drainer.

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
