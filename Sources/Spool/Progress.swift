import Turnstone
import Unix

/// How far a notification has come, as the receipts tell.
struct Progress {
    var settled = NumberSet()
    /// Those of which an earlier drainer noted that it was about to send to them, and no answer.
    var unanswered = NumberSet()
    /// Those of which an attempt in this pass has got no answer.
    var doubtful = NumberSet()
    /// Those that have failed in this pass. No receipt says so: of a drainer that was killed, they count as
    /// not tried.
    private var failed: [Trouble: NumberSet] = [:]
    /// Whether the push service took it for a device.
    var isReached = false
    /// Where the receipts first tell of it.
    var start: ReceiptLog.Position?
    /// The last pass that is over.
    var endedPass = 0
    /// How many devices have got which outcome in this pass.
    var counts: [Outcome: Int] = [:]
    /// Whether the receipts say that its file could not be read.
    var isSetAside = false

    mutating func fail(_ number: Int, _ trouble: Trouble) {
        failed[trouble, default: NumberSet()].insert(number)
    }

    /// `nil` where it has not failed.
    func trouble(of number: Int) -> Trouble? { failed.first { $0.value.contains(number) }?.key }

    mutating func settle(_ number: Int, _ outcome: Outcome) {
        settled.insert(number)
        counts[outcome, default: 0] += 1
        if outcome == .accepted { isReached = true }
    }
}
