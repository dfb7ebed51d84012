import HTTP
import Turnstone
import Unix

/// Asks Online-Go.com about players' games at the configured pace.
package struct OGSClient {
    let base: String
    private let fetcher: Fetcher

    package init(_ settings: Settings) throws(Failure) {
        // Players with hundreds of games get answers of several megabytes.
        try self.init(settings, bodyLimit: 64 << 20)
    }

    init(_ settings: Settings, bodyLimit: Int) throws(Failure) {
        base = settings.base
        fetcher = try Fetcher(
            Fetcher.Settings(
                userAgent: settings.userAgent, authorities: settings.authorities,
                bodyLimit: bodyLimit))
    }

    /// Makes one request. The caller reserves its time in the installation's schedule.
    func get(_ path: String, patience: Interval) throws(Failure) -> FetchResult {
        try fetcher.submit("\(base)\(path)", tag: 1, entityTag: nil, patience: patience)
        let end = Instant.now + patience + .seconds(1)
        while Instant.now < end {
            if let fetched = fetcher.step(pause: end - Instant.now).first { return fetched.result }
        }
        fetcher.cancelAll()
        return .failed(.unusable("no answer in time"))
    }

    /// A request to look at a player.
    package struct Request: Equatable, Sendable {
        package let player: PlayerID
        /// OGS's entity tag for what is known already.
        package let entityTag: String?

        package init(_ player: PlayerID, entityTag: String?) {
            self.player = player
            self.entityTag = entityTag
        }
    }

    /// A run of looks. Requests that are in flight at the deadline are given up.
    package func run(until deadline: Instant) -> OGSRun {
        OGSRun(base: base, fetcher: fetcher, deadline: deadline)
    }
}
