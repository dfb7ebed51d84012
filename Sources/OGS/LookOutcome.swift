import HTTP
import Turnstone

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
