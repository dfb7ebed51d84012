import HTTP
import Turnstone
import Unix

/// Asks Online-Go.com about players' games, politely.
package struct OGSClient {
    private let base: String
    private let fetcher: Fetcher

    package init(_ settings: Settings) throws(Failure) {
        base = settings.base
        // Players with hundreds of games get answers of megabytes.
        fetcher = try Fetcher(
            Fetcher.Settings(
                userAgent: settings.userAgent, authorities: settings.authorities,
                bodyLimit: 64 << 20))
    }

    /// A player to be looked at.
    package struct LookRequest: Equatable, Sendable {
        package let player: PlayerID
        /// OGS's name for what is known already.
        package let entityTag: String?

        package init(_ player: PlayerID, entityTag: String?) {
            self.player = player
            self.entityTag = entityTag
        }
    }

    /// Looks at players until `next` has no more, OGS wants to be left alone, or the time is over.
    ///
    /// One slow or failing player delays nobody else.
    ///
    /// - Parameters:
    ///   - deadline: what is under way then is given up.
    ///   - next: the next player to be looked at.
    ///   - reserve: takes a request's turn in the installation's schedule, and tells how long it is until then.
    ///   - result: is told each look's outcome.
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

/// What a look at a player came to.
package enum LookOutcome: Equatable {
    case games(ActiveGames, entityTag: String?)
    /// What is known already is still right.
    case unchanged
    case unknownPlayer
    /// OGS wants to be left alone, for this long if it says so.
    case backOff(Interval?)
    /// OGS answered nothing that makes sense.
    case outage(String)
    /// It was not asked, or not waited for: the run ended.
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
                    answer.isPage ? "the answer is a page" : "the answer is no list of games")
                return
            }
            self = .games(games, entityTag: answer.entityTag.flatMap(storable))
        case 304 where request.entityTag != nil: self = .unchanged
        // A proxy in front of OGS says so too, in HTML, while OGS is away.
        case 404 where !answer.isPage: self = .unknownPlayer
        case 429, 503: self = .backOff(answer.retryAfter)
        default: self = .outage("HTTP \(answer.status)")
        }
    }
}

extension FetchedAnswer {
    /// Whether a person should read it.
    fileprivate var isPage: Bool {
        body.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
    }
}

/// An entity tag that can be sent back as it is (RFC 9110 section 8.8.3); a longer one is no hash.
private func storable(_ entityTag: String) -> String? {
    let isPlain = entityTag.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    return isPlain && (2...128).contains(entityTag.utf8.count) ? entityTag : nil
}
