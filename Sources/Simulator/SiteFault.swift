import HTTP2
import HTTP2Server
import Turnstone

/// Trouble that OGS is told to make.
struct SiteFault {
    enum Effect {
        case status(Int, retryAfter: String?)
        /// A page for people, with status 200.
        case page
        /// Half of the answer, and the stream breaks.
        case cut
        /// The answer without a member.
        case missing(String)
        case stall
        case drop
        /// Only late.
        case delay
    }

    let effect: Effect
    let delay: Interval
    private let player: Int64?
    private(set) var remaining: Int64

    /// Reads the command `ogs-fault`.
    init(_ command: JSONObject) throws(Failure) {
        effect = try Self.effect(command)
        delay = try command.patience() ?? .seconds(0)
        player = try command.number("player")
        remaining = try command.number("count") ?? .max
    }

    private static func effect(_ command: JSONObject) throws(Failure) -> Effect {
        switch try command.text("kind") ?? "status" {
        case "status":
            let status = try command.needed("status", command.number("status"))
            let seconds = command["retry_after"].flatMap {
                $0.string ?? $0.integer.map(String.init)
            }
            return .status(Int(status), retryAfter: seconds)
        case "html": return .page
        case "cut": return .cut
        case "missing": return .missing(try command.text("member") ?? "active_games")
        case "stall": return .stall
        case "drop": return .drop
        case "delay": return .delay
        default:
            throw unusable("kind must be status, html, cut, missing, stall, drop or delay")
        }
    }

    /// Whether it strikes a look at this player.
    mutating func strikes(_ looked: Int64) -> Bool {
        guard remaining > 0, player == nil || player == looked else { return false }
        remaining -= 1
        return true
    }
}
