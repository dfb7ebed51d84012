import Documents
import Edge
import OGS
import Store
import Turns
import Turnstone
import Unix

/// One cycle: a look at every player who is due.
final class Cycle {
    private let schedule: Schedule
    private let state: State
    private let index: PlayerIndex
    private let findings: Findings
    private let settings: OGSClient.Settings
    private let interval: Interval
    private let perSecond: Int

    private var due: ArraySlice<Claim> = []
    /// The players whose looks are under way, and when these began.
    private var begun: [PlayerID: (claim: Claim, at: Timestamp)] = [:]
    private var count = Count()
    private let locking = ImpatientLocking()
    private var backOff: BackOff?
    /// Whether there are players whose last look did not fail. If so, only their failures can show that OGS
    /// is down.
    private var hasSound = false

    private struct Count {
        var due = 0
        var looked = 0
        var unchanged = 0
        var notices = 0
        var failed = 0
        var putOff = 0
        /// Failures without a usable answer, of players for whom an answer is expected.
        var outages = 0
        /// Failures for players for whom OGS has answered before.
        var lost = 0
        /// Players for whom an answer is expected: those whose last look did not fail, or all if there are
        /// none.
        var expected = 0
    }

    init(_ schedule: Schedule, state: State, index: PlayerIndex) throws(Failure) {
        self.schedule = schedule
        self.state = state
        self.index = index
        settings = try OGSClient.Settings(schedule.variables)
        interval = try state.checkInterval(schedule.variables)
        perSecond = try state.requestsPerSecond(schedule.variables)
        // Check this before any mark is made: a wrong configuration must change nothing.
        _ = try TurnSettings(schedule.variables)
        findings = try Findings(schedule.variables, state: state, now: schedule.time)
        let missed = try index.compare { schedule.log.failure($0) }
        if missed > 0 {
            schedule.log.event(
                "added missing players", ["players": .integer(Int64(missed))])
        }
        backOff = try state.backOff()
    }

    func run() throws(Failure) -> JSONObject {
        guard backOff?.isActive(at: schedule.time) != true else { return summary }
        due = index.claim(at: schedule.time, interval: interval)[...]
        count.due = due.count
        let sound = due.count { !$0.hasFailed }
        hasSound = sound > 0
        count.expected = hasSound ? sound : due.count
        guard !due.isEmpty else { return summary }
        // A longer cycle would delay the next one.
        let deadline = Instant.now + max(.seconds(30), interval)
        var run = try OGSClient(settings).run(until: deadline)
        while true {
            while try run.advance(), let request = try nextRequest() {
                run.add(request, after: try state.pace.reserve(perSecond: perSecond))
            }
            guard run.isOpen else { break }
            for (request, outcome) in run.step() { try take(outcome, of: request.player) }
        }
        for request in run.giveUp() { try take(.notLooked, of: request.player) }
        releaseRest()
        return summary
    }

    private func nextRequest() throws(Failure) -> OGSClient.Request? {
        // If there are only failures, OGS is down, and further requests are pointless.
        guard !isDown(after: 5) else { return nil }
        while let claim = due.popFirst() {
            do throws(Failure) {
                guard let mark = try index.begin(claim, at: schedule.time, interval: interval)
                else {
                    count.due -= 1
                    continue
                }
                begun[claim.player] = (claim, try now())
                return OGSClient.Request(claim.player, entityTag: mark.tag)
            } catch {
                // One player's mark must not delay the others.
                count.failed += 1
                schedule.log.failure(error)
            }
        }
        return nil
    }

    private func take(_ outcome: OGSOutcome, of player: PlayerID) throws(Failure) {
        guard let (claim, began) = begun.removeValue(forKey: player) else { return }
        do throws(Failure) {
            try locking.changing(state.users[player].lock) { () throws(Failure) in
                try record(outcome, claim, began)
            }
        } catch {
            // One player's document must not delay the others, and says nothing about OGS.
            count.failed += 1
            schedule.log.failure(error)
            attempt { () throws(Failure) in
                if case .later = error.disposition {
                    try index.release(claim, hasBegun: true)
                } else {
                    try recordFailure(claim)
                }
            }
        }
        attempt { () throws(Failure) in try index.end(claim) }
    }

    /// Runs `body`. One player's mark must not end the cycle.
    private func attempt(_ body: () throws(Failure) -> Void) {
        do throws(Failure) { try body() } catch { schedule.log.failure(error) }
    }

    private func recordFailure(_ claim: Claim) throws(Failure) {
        try state.watch.update(claim.player) { $0.recordFailure(at: schedule.time) }
    }

    private func record(
        _ outcome: OGSOutcome, _ claim: Claim, _ began: Timestamp
    ) throws(Failure) {
        switch outcome {
        case .games(let found, let tag):
            try countAnswer()
            let result = try findings.take(
                found, entityTag: tag, of: claim.player, began: began)
            if result == nil { count.unchanged += 1 }
            logResult(result, claim.player, skipped: found.skipped)
        case .unchanged:
            try countAnswer()
            count.unchanged += 1
            let result = try findings.takeUnchanged(of: claim.player, began: began)
            logResult(result, claim.player, skipped: 0)
        case .unknownPlayer:
            if claim.isKnown { count.lost += 1 }
            try state.watch.update(claim.player) { $0.recordUnknownPlayer(at: schedule.time) }
            logFailure(claim, "Online-Go.com knows no such player")
        case .outage(let reason):
            if claim.isKnown { count.lost += 1 }
            try recordFailure(claim)
            logFailure(claim, reason)
            if !hasSound || !claim.hasFailed { count.outages += 1 }
            if isDown(after: min(5, count.expected)) {
                try pause(reason: reason, requested: nil)
            }
        case .backOff(let requested):
            count.putOff += 1
            try index.release(claim, hasBegun: true)
            try pause(reason: nil, requested: requested)
        case .notLooked:
            count.putOff += 1
            try index.release(claim, hasBegun: true)
        }
    }

    /// Whether OGS has answered for any player; `nil` if it was not asked about a player for whom it had
    /// answered before.
    var isAnswered: Bool? { count.looked > 0 ? true : count.lost > 0 ? false : nil }

    /// Whether there was no usable answer at all, and at least `failures` requests were without one.
    private func isDown(after failures: Int) -> Bool {
        count.looked == 0 && count.outages >= failures
    }

    private func countAnswer() throws(Failure) {
        count.looked += 1
        // Requests that were under way when OGS asked for a pause may still be answered.
        guard let backOff, !backOff.isActive(at: try now()) else { return }
        self.backOff = nil
        try state.setBackOff(nil)
    }

    private func logResult(_ result: TurnNotifier.LookResult?, _ player: PlayerID, skipped: Int) {
        if let notice = result?.notice {
            count.notices += 1
            schedule.log.event(
                "queued a notice", ["player": .string("\(player)"), "id": .string(notice)])
        }
        if skipped > 0 {
            schedule.log.event(
                "left out malformed games",
                ["player": .string("\(player)"), "games": .integer(Int64(skipped))])
        }
    }

    private func logFailure(_ claim: Claim, _ reason: String) {
        count.failed += 1
        schedule.log.event(
            "unable to look at a player",
            ["player": .string("\(claim.player)"), "reason": .string(reason)])
    }

    /// Records a pause. Several requests may get the same refusal, which counts once per cycle.
    ///
    /// - Parameter reason: why Turnstone pauses if Online-Go.com did not ask for it.
    private func pause(reason: String?, requested: Interval?) throws(Failure) {
        let now = try now()
        guard backOff?.isActive(at: now) != true else { return }
        let next = BackOff(after: backOff, requested: requested, reason: reason, now: now)
        backOff = next
        try state.setBackOff(next)
        schedule.log.event(
            reason == nil
                ? "Online-Go.com answered 429 or 503; pausing"
                : "Online-Go.com gives no usable answers; pausing",
            ["until": .string(CalendarDate(next.until).text)])
    }

    private func releaseRest() {
        attempt { () throws(Failure) in
            for claim in due { try index.release(claim, hasBegun: false) }
            for (claim, _) in begun.values { try index.release(claim, hasBegun: true) }
        }
        count.putOff += due.count
    }

    private func now() throws(Failure) -> Timestamp { try Environment.now(schedule.variables) }

    private var summary: JSONObject {
        [
            "due": .integer(Int64(count.due)), "looked": .integer(Int64(count.looked)),
            "unchanged": .integer(Int64(count.unchanged)),
            "notices": .integer(Int64(count.notices)), "failed": .integer(Int64(count.failed)),
            "put_off": .integer(Int64(count.putOff)),
        ]
    }
}
