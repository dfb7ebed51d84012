import Edge
import Spool
import Store
import Turnstone

/// What a run's verdicts mean for the devices' registrations.
///
/// It is carried out at the run's end, since only then it is known whether so many failed alike that the
/// fault must be ours: a wrong key, topic or environment. What is not carried out now, the next push
/// to the device brings up again.
struct CleanUp {
    private let state: State
    private let log: Log
    private var pushes = 0
    private var items: [Item] = []

    private struct Item {
        let push: Push
        let reason: String
        let change: Change
    }

    enum Change {
        case remove(goneSince: Timestamp)
        case quarantine(since: Timestamp)
    }

    init(state: State, log: Log) {
        self.state = state
        self.log = log
    }

    mutating func note(_ push: Push, _ verdict: Verdict) {
        pushes += 1
        guard let change = verdict.change else { return }
        items.append(Item(push: push, reason: verdict.reason ?? "", change: change))
    }

    /// Changes the registrations. A document that is busy or damaged is logged: the deliveries count all
    /// the same.
    mutating func carryOut() {
        defer { items = [] }
        for item in items where !isOurFault(item.reason) {
            do throws(Failure) { try carryOut(item) } catch { log.failure(error) }
        }
        let alike = items.first { isOurFault($0.reason) }
        if let alike {
            log.event(
                "kept all devices that failed alike: more than a fifth did, so key, topic or environment are wrong",
                ["reason": .string(alike.reason), "pushes": .integer(Int64(pushes))])
        }
    }

    private func carryOut(_ item: Item) throws(Failure) {
        let user = item.push.notification.user
        let token = item.push.delivery.token
        let event: String
        switch item.change {
        case .remove(let since):
            let removed = try state.registry.remove(token, of: user, goneSince: since)
            event = removed ? "removed a device" : "kept a device that registered again"
        case .quarantine(let since):
            try state.registry.quarantine(token, of: user, since: since)
            event = "quarantined a device"
        }
        log.event(
            event,
            [
                "user": .string(user.text), "device": .string(token.description),
                "reason": .string(item.reason),
            ])
    }

    /// More than 20 % of at least 20.
    private func isOurFault(_ reason: String) -> Bool {
        pushes >= 20 && items.count { $0.reason == reason } * 5 > pushes
    }
}
