import Foundation

// Not tried: a power cut, after which a disk forgets everything that was never synced; two machines that
// share a file system; and a jump of the system's clock during a run, because `TURNSTONE_NOW` stands still
// then. The gateway's clock does jump under a running drainer.

/// How long the table of faults may take: a minute in all, or with `TURNSTONE_TORTURE=long` as long as it
/// takes.
enum Length {
    static let isLong = ProcessInfo.processInfo.environment["TURNSTONE_TORTURE"] == "long"

    /// All of `moments`, or so many of them, spread evenly, the first and the last among them.
    static func sample<Moment>(_ moments: [Moment], few: Int) -> [Moment] {
        guard !isLong, moments.count > few else { return moments }
        return (0..<few).map { moments[$0 * (moments.count - 1) / (few - 1)] }
    }

    static func times(_ many: Int, few: Int) -> Int { isLong ? many : few }
}
