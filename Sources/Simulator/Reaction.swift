import HTTP2
import HTTP2Server

/// What a client gets to its request.
enum Reaction {
    /// After so many milliseconds.
    case answer(ServerAnswer, after: Int64)
    /// The stream stays open for ever.
    case stall
    /// RST_STREAM with that code (RFC 9113 section 7).
    case reset(code: UInt32, after: Int64)
    /// The TCP connection ends, or is reset.
    case drop(after: Int64, resetting: Bool = false)

    static func answer(_ answer: ServerAnswer) -> Reaction { .answer(answer, after: 0) }

    var delay: Int64 {
        switch self {
        case .answer(_, let delay), .reset(_, let delay), .drop(let delay, _): delay
        case .stall: 0
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
