import HTTP
import Turnstone

/// Asks Online-Go.com about players' games at the configured pace.
package struct OGSClient {
    private let base: String
    private let fetcher: Fetcher

    package init(_ settings: Settings) throws(Failure) {
        base = settings.base
        // Players with hundreds of games get answers of several megabytes.
        fetcher = try Fetcher(
            Fetcher.Settings(
                userAgent: settings.userAgent, authorities: settings.authorities,
                bodyLimit: 64 << 20))
    }

    /// A request to look at a player.
    package struct LookRequest: Equatable, Sendable {
        package let player: PlayerID
        /// OGS's entity tag for what is known already.
        package let entityTag: String?

        package init(_ player: PlayerID, entityTag: String?) {
            self.player = player
            self.entityTag = entityTag
        }
    }

    /// A run of looks. Requests that are in flight at the deadline are given up.
    package func run(until deadline: Instant) -> LookRun {
        LookRun(base: base, fetcher: fetcher, deadline: deadline)
    }
}
