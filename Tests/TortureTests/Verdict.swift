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
        expected = trial.ground.targets.count
        let receipts = Receipts(trial.state)
        let taken = try trial.ground.simulator.taken()
        let lines = Dictionary(grouping: receipts.lines, by: \.device)
        for (target, outcome) in trial.refused {
            let outcomes = (lines[target.receiptName] ?? []).compactMap(\.outcome)
            if Set(outcomes) != [outcome] { wrong.append("\(target.name): outcomes \(outcomes)") }
            if taken[target.name] != nil { wrong.append("\(target.name): a push was taken") }
            if trial.isRegistered(target) == (outcome == "gone") {
                wrong.append("\(target.name): \(outcome), and it is registered or not")
            }
        }
        for target in trial.ground.targets where trial.refused[target] == nil {
            check(target, taken[target.name] ?? [], lines[target.receiptName] ?? [])
        }
        let names = Set(trial.ground.targets.map(\.name))
        for name in taken.keys where !names.contains(name) {
            wrong.append("a push to nobody's device \(name)")
        }
        wrong += receipts.damaged + trial.damagedDocuments()
        wrong += trial.spooled().map { "left in the spool: \($0)" }
        wrong += trial.complaints
    }

    private mutating func check(
        _ target: Target, _ taken: [JSONObject], _ lines: [Receipts.Line]
    ) {
        let token = target.name
        // A held push has another line later.
        let lines = lines.filter { $0.outcome != "held" }
        let outcomes = lines.compactMap(\.outcome)
        // Some only put it off, without asking the push service.
        let asked = Set(
            lines.filter { $0.outcome != nil || !$0.pushID.isEmpty }.map(\.pushID))
        // Only APNs is told the id of a push.
        let ids =
            target.service == .apns ? Set(taken.compactMap { $0["apns_id"]?.string }) : asked
        guard !taken.isEmpty, let id = ids.first, outcomes.contains("accepted") else {
            lost.append("\(token): taken \(taken.count) times, outcomes \(outcomes)")
            return
        }
        if ids.count > 1 { repeatedForNothing.append("\(token) under \(ids.sorted())") }
        if outcomes.count > 1 { wrong.append("\(token): outcomes \(outcomes)") }
        if asked != ids { wrong.append("\(token): not under \(ids) in the receipts: \(asked)") }
        let collapsed = Set(taken.map { target.collapseID(of: $0) })
        if collapsed.count > 1 { wrong.append("\(token): collapse ids \(collapsed)") }
        guard taken.count > 1 else { return }
        if lines.tell(of: id, sent: taken.count) {
            repeated += taken.count - 1
        } else {
            repeatedForNothing.append("\(token): \(taken.count) times, \(lines)")
        }
    }
}
