import HTTP
import Turnstone

/// The outcome of a look at a player.
package enum OGSOutcome: Equatable {
    case games(ActiveGames, entityTag: String?)
    /// OGS answered 304: the known games are current.
    case unchanged
    case unknownPlayer
    /// OGS asks for a pause: this long, if it says so.
    case backOff(Interval?)
    /// OGS gave no usable answer. The reason is a sentence without its full stop.
    case outage(String)
    /// OGS was not asked, or its answer did not arrive before the run ended.
    case notLooked
}

extension OGSOutcome {
    /// - Parameter base: OGS's address, for the reason of an outage.
    init(_ result: FetchResult, of request: OGSClient.Request, at base: String) {
        switch result {
        case .failed(let fault): self = .outage(fault.sentence(at: base))
        case .answered(let answer): self.init(answer, of: request, at: base)
        }
    }

    private init(_ answer: FetchedAnswer, of request: OGSClient.Request, at base: String) {
        switch answer.status {
        case 200:
            guard let games = ActiveGames(answer: answer.body) else {
                self = .outage(
                    answer.isPage
                        ? "Online-Go.com answered with an HTML page at \(base). Check OGS_BASE_URL"
                        : "Online-Go.com gave no usable answer at \(base): it is not a list of games"
                )
                return
            }
            self = .games(games, entityTag: answer.entityTag.flatMap(storable))
        case 304 where request.entityTag != nil: self = .unchanged
        // While OGS is down, a proxy in front of it answers 404 too, in HTML.
        case 404 where !answer.isPage: self = .unknownPlayer
        case 429, 503: self = .backOff(answer.retryAfter)
        case 300...499:
            self = .outage("Online-Go.com answered \(answer.status) at \(base). Check OGS_BASE_URL")
        default: self = .outage("Online-Go.com answered \(answer.status) at \(base)")
        }
    }
}

extension FetchFault {
    /// - Parameter base: OGS's address.
    func sentence(at base: String) -> String {
        switch self {
        case .unreachable(let reason):
            "Online-Go.com cannot be reached at \(base): \(reason). Check OGS_BASE_URL"
        case .untrusted(let reason):
            "Online-Go.com cannot be trusted at \(base): \(reason). Check OGS_BASE_URL and OGS_CA_FILE"
        case .unusable(let reason):
            "Online-Go.com gave no usable answer at \(base): \(reason)"
        }
    }
}

extension FetchedAnswer {
    /// Whether the body is HTML.
    var isPage: Bool {
        body.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
    }
}

/// The tag if it can be sent back unchanged (RFC 9110 section 8.8.3). A longer one is not a hash.
private func storable(_ entityTag: String) -> String? {
    let isPlain = entityTag.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    return isPlain && (2...128).contains(entityTag.utf8.count) ? entityTag : nil
}
