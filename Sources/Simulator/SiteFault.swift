import Turnstone

/// A fault that OGS makes.
struct SiteFault {
    enum Effect {
        case status(Int, retryAfter: String?)
        /// An HTML page with status 200.
        case page
        /// Half of the answer, then the stream is reset.
        case cut
        /// The answer without a member.
        case missing(String)
        case stall
        case drop
        /// The usual answer, but late.
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
            let status = try command.required("status", command.number("status"))
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
            throw badCommand("kind must be status, html, cut, missing, stall, drop or delay")
        }
    }

    /// Whether the fault applies to a request for this player; counts it.
    mutating func strikes(_ looked: Int64) -> Bool {
        guard remaining > 0, player == nil || player == looked else { return false }
        remaining -= 1
        return true
    }
}
