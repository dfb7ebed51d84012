import Spool
import Turnstone

/// The results of a run.
struct Summary {
    /// Notifications whose devices all have an outcome.
    var finished = 0
    /// Notifications that were put off.
    var waiting = 0
    private var outcomes: [Outcome: Int] = [:]

    mutating func count(_ outcome: Outcome) { outcomes[outcome, default: 0] += 1 }

    var members: JSONObject {
        var members: JSONObject = [
            "finished": .integer(Int64(finished)), "waiting": .integer(Int64(waiting)),
        ]
        for outcome in Outcome.all {
            members[outcome.rawValue] = .integer(Int64(outcomes[outcome] ?? 0))
        }
        return members
    }
}
