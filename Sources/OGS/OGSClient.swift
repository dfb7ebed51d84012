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

/// The outcome of a look at a player.
package enum LookOutcome: Equatable {
    case games(ActiveGames, entityTag: String?)
    /// What is known already is still right.
    case unchanged
    case unknownPlayer
    /// OGS asks for a pause: this long, if it says so.
    case backOff(Interval?)
    /// OGS gave no usable answer, for this reason.
    case outage(String)
    /// OGS was not asked, or its answer did not arrive before the run ended.
    case notLooked
}

extension LookOutcome {
    init(_ result: FetchResult, of request: OGSClient.LookRequest) {
        switch result {
        case .failed(let reason): self = .outage(reason)
        case .answered(let answer): self.init(answer, of: request)
        }
    }

    private init(_ answer: FetchedAnswer, of request: OGSClient.LookRequest) {
        switch answer.status {
        case 200:
            guard let games = ActiveGames(answer: answer.body) else {
                self = .outage(
                    answer.isPage
                        ? "the answer is an HTML page" : "the answer is not a list of games")
                return
            }
            self = .games(games, entityTag: answer.entityTag.flatMap(storable))
        case 304 where request.entityTag != nil: self = .unchanged
        // While OGS is down, a proxy in front of it answers 404 too, in HTML.
        case 404 where !answer.isPage: self = .unknownPlayer
        case 429, 503: self = .backOff(answer.retryAfter)
        default: self = .outage("HTTP \(answer.status)")
        }
    }
}

extension FetchedAnswer {
    /// Whether the body is HTML.
    fileprivate var isPage: Bool {
        body.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
    }
}

/// The tag if it can be sent back unchanged (RFC 9110 section 8.8.3). A longer one is not a hash.
private func storable(_ entityTag: String) -> String? {
    let isPlain = entityTag.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    return isPlain && (2...128).contains(entityTag.utf8.count) ? entityTag : nil
}
