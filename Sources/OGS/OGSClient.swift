import HTTP
import Turnstone
import Unix

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

    /// Looks at players until `next` returns `nil`, OGS asks for a pause, or the deadline passes.
    ///
    /// One slow or failing player delays nobody else.
    ///
    /// - Parameters:
    ///   - deadline: requests in flight at this moment are given up.
    ///   - next: returns the next player to look at.
    ///   - reserve: reserves a time in the installation's schedule and returns how long to wait for it.
    ///   - result: gets each look's outcome.
    package func look(
        until deadline: Instant,
        next: () throws(Failure) -> LookRequest?,
        reserve: () throws(Failure) -> Interval,
        result: (LookRequest, LookOutcome) throws(Failure) -> Void
    ) throws(Failure) {
        var run = LookRun(base: base, fetcher: fetcher, deadline: deadline)
        while try run.begin(next: next, reserve: reserve) {
            for (request, outcome) in run.step() { try result(request, outcome) }
        }
        for request in run.giveUp() { try result(request, .notLooked) }
    }
}
