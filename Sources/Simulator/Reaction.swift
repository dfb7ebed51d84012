import HTTP2Server
import Turnstone

/// The reaction to a client's request. Each but `stall` may come after a pause.
enum Reaction {
    case answer(ServerAnswer, after: Interval)
    /// No answer: the stream stays open.
    case stall
    /// RST_STREAM with this code (RFC 9113 section 7).
    case reset(code: UInt32, after: Interval)
    /// The TCP connection is closed or reset.
    case drop(after: Interval, resetting: Bool = false)

    static func answer(_ answer: ServerAnswer) -> Reaction { .answer(answer, after: .seconds(0)) }

    var delay: Interval {
        switch self {
        case .answer(_, let delay), .reset(_, let delay), .drop(let delay, _): delay
        case .stall: .seconds(0)
        }
    }

    func carryOut(_ connection: ServerConnection, _ stream: Int32) {
        switch self {
        case .answer(let answer, _): connection.answer(stream, answer)
        case .stall: break
        case .reset(let code, _): connection.reset(stream, code: code)
        case .drop(_, let resetting): connection.drop(resetting: resetting)
        }
    }
}
