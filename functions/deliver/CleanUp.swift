import Edge
import Store
import Turnstone
import Unix

/// What a run's verdicts mean for the devices' registrations.
///
/// It is carried out when many have gathered, or at the run's end: only then it is known whether so many failed
/// alike that the fault must be ours, a wrong key, topic or environment. What is not carried out now, the next
/// push to the device brings up again.
struct CleanUp {
    private let state: State
    private let log: Log
    private var pushes = 0
    /// How many failed for which reason, in the whole run.
    private var failures: [String: Int] = [:]
    private var items: [Item] = []

    private struct Item {
        let user: UserID
        let token: DeviceToken
        let reason: String
        let change: Change
    }

    enum Change {
        case remove(goneSince: Timestamp)
        /// It was refused for its own sake; `isBad`: no environment knows it.
        case noteRefusal(isBad: Bool, at: Timestamp)
        /// It was found where it was not looked for at first.
        case move(to: APNsEnvironment)
    }

    init(state: State, log: Log) {
        self.state = state
        self.log = log
    }

    mutating func note(_ push: Push, _ verdict: Verdict) {
        pushes += 1
        guard let change = verdict.change, let user = push.job.file.user(of: push.delivery),
            let token = push.delivery.token
        else { return }
        let reason = verdict.reason ?? ""
        if verdict.reason != nil { failures[reason, default: 0] += 1 }
        items.append(
            Item(user: user, token: token, reason: reason, change: change))
    }

    /// Changes the registrations. A document that is busy or damaged is logged: the deliveries count all
    /// the same.
    mutating func carryOut() {
        while !items.isEmpty, !ThisProcess.isEndWanted { carryOutOne() }
        for (reason, _) in failures where isOurFault(reason) {
            log.event(
                "kept all devices that failed alike: more than a fifth did, so key, topic or environment are wrong",
                ["reason": .string(reason), "pushes": .integer(Int64(pushes))])
        }
    }

    /// Changes one registration where many wait for it, while pushes go on.
    mutating func carryOutSome() {
        if items.count > 1000 { carryOutOne() }
    }

    private mutating func carryOutOne() {
        guard let item = items.popLast(), !isOurFault(item.reason) else { return }
        do throws(Failure) { try carryOut(item) } catch { log.failure(error) }
    }

    private func carryOut(_ item: Item) throws(Failure) {
        let event: String
        let registry = state.registry
        switch item.change {
        case .remove(let since):
            let removed = try registry.remove(item.token, of: item.user, goneSince: since)
            event = removed ? "removed a device" : "kept a device that registered again"
        case .noteRefusal(let isBad, let moment):
            try registry.noteRefusal(
                item.reason, of: item.token, of: item.user, isBad: isBad, at: moment)
            event = isBad ? "quarantined a device" : "noted a device's refusal"
        case .move(let environment):
            try registry.move(item.token, of: item.user, to: environment)
            event = "found a device in \(environment.rawValue)"
        }
        log.event(
            event,
            [
                "user": .string(item.user.text), "device": .string(item.token.description),
                "reason": .string(item.reason),
            ])
    }

    /// More than 20 % of at least 20.
    private func isOurFault(_ reason: String) -> Bool {
        pushes >= 20 && (failures[reason] ?? 0) * 5 > pushes
    }
}
