import JSON
import TestSupport
import Turnstone

/// The outcomes of one trial's pushes, once nothing waits any more.
struct Verdict {
    /// How many devices were to get one push each.
    let expected: Int
    /// Devices that got no push, or for which the receipts do not record one.
    private(set) var lost: [String] = []
    /// Pushes beyond the first that were taken under one id, after an answer that was lost.
    private(set) var repeated = 0
    private(set) var repeatedForNothing: [String] = []
    /// Other faults that were found.
    private(set) var wrong: [String] = []

    /// A verdict that another check has reached.
    init(expected: Int, lost: [String], wrong: [String]) {
        self.expected = expected
        self.lost = lost
        self.wrong = wrong
    }

    init(of trial: Trial) throws {
        expected = trial.ground.tokens.count
        let receipts = Receipts(trial.state)
        let taken = try trial.ground.simulator.pushes().filter { $0["accepted"] == true }
        let byDevice = Dictionary(grouping: taken) { $0["token"]?.string ?? "" }
        let lines = Dictionary(grouping: receipts.lines, by: \.device)
        for token in trial.ground.tokens {
            check(token, byDevice[token] ?? [], lines[String(token.prefix(8))] ?? [])
        }
        for token in byDevice.keys where !trial.ground.tokens.contains(token) {
            wrong.append("a push to nobody's device \(token)")
        }
        wrong += receipts.damaged + trial.damagedDocuments()
        wrong += trial.spooled().map { "left in the spool: \($0)" }
        wrong += trial.complaints
    }

    private mutating func check(
        _ token: String, _ taken: [JSONObject], _ lines: [Receipts.Line]
    ) {
        // A held push has another line later.
        let lines = lines.filter { $0.outcome != "held" }
        let outcomes = lines.compactMap(\.outcome)
        let ids = Set(taken.compactMap { $0["apns_id"]?.string })
        guard let id = ids.first, outcomes.contains("accepted") else {
            lost.append("\(token): taken \(taken.count) times, outcomes \(outcomes)")
            return
        }
        if ids.count > 1 { repeatedForNothing.append("\(token) under \(ids.sorted())") }
        if outcomes.count > 1 { wrong.append("\(token): outcomes \(outcomes)") }
        // Some only put it off, without asking the push service.
        let asked = lines.filter { $0.outcome != nil || !$0.pushID.isEmpty }
        if Set(asked.map(\.pushID)) != ids {
            wrong.append("\(token): not under \(ids) in the receipts: \(asked)")
        }
        let collapsed = Set(taken.map { $0["headers"]?.object?["apns-collapse-id"]?.string })
        if collapsed.count > 1 { wrong.append("\(token): collapse ids \(collapsed)") }
        guard taken.count > 1 else { return }
        if lines.tell(of: id, sent: taken.count) {
            repeated += taken.count - 1
        } else {
            repeatedForNothing.append("\(token): \(taken.count) times, \(lines)")
        }
    }
}
