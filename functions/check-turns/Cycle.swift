import Edge
import OGS
import Store
import Turns
import Turnstone
import Unix

/// One round over the players who are due.
final class Cycle {
    private let schedule: Schedule
    private let state: State
    private let book: LookBook
    private let settings: OGSClient.Settings
    private let interval: Int
    private let perSecond: Int

    private var due: ArraySlice<Claim> = []
    /// Who is under way, and since when.
    private var begun: [PlayerID: (claim: Claim, at: Timestamp)] = [:]
    private var count = Count()
    private var backOff: BackOff?
    /// Whether there are players whose last look did not fail: only they tell whether OGS is down.
    private var hasSound = false

    private struct Count {
        var due = 0
        var looked = 0
        var unchanged = 0
        var notices = 0
        var failed = 0
        var putOff = 0
        /// Failures that OGS gave no sensible answer for, of players whom it should.
        var outages = 0
        /// Failures to find out anything about players of whom OGS has told before.
        var lost = 0
        /// Players of whom an answer is expected: those whose last look did not fail, or all where there are none.
        var expected = 0
    }

    init(_ schedule: Schedule, state: State) throws(Failure) {
        self.schedule = schedule
        self.state = state
        settings = try OGSClient.Settings(schedule.variables)
        interval = try state.checkInterval(schedule.variables)
        perSecond = try state.requestsPerSecond(schedule.variables)
        // Before the index is touched: a wrong configuration leaves everything as it was.
        _ = try TurnSettings(schedule.variables)
        let missed = try state.playerIndex().repair { schedule.log.failure($0) }
        if missed > 0 {
            schedule.log.event(
                "added players to the index that it lacked", ["players": .integer(Int64(missed))])
        }
        book = try LookBook(schedule.variables, state: state, now: schedule.time)
        backOff = try state.backOff()
    }

    func run() throws(Failure) -> JSONObject {
        guard backOff?.isActive(at: schedule.time) != true else { return summary }
        due = try claim()[...]
        count.due = due.count
        let sound = due.count { !$0.hasFailed }
        hasSound = sound > 0
        count.expected = hasSound ? sound : due.count
        guard !due.isEmpty else { return summary }
        // A cycle that takes longer than its interval would delay the next one.
        let deadline = Instant.now + .seconds(Int64(max(30, interval)))
        try OGSClient(settings).look(until: deadline) { () throws(Failure) in
            try nextRequest()
        } reserve: { () throws(Failure) in
            try state.pace.reserve(perSecond: perSecond)
        } result: { (request, outcome) throws(Failure) in
            try take(outcome, of: request.player)
        }
        giveBack()
        return summary
    }

    private func claim() throws(Failure) -> [Claim] {
        try state.playerIndex().locked { () throws(Failure) in
            book.records.claim(at: schedule.time, interval: .seconds(Int64(interval)))
        }
    }

    private func nextRequest() throws(Failure) -> OGSClient.LookRequest? {
        // Nobody but failures: OGS is down, and asking for everybody else would not mend it.
        guard !isDown(after: 5) else { return nil }
        while let claim = due.popFirst() {
            // A player with two records, after a crash, is looked at through one at a time.
            guard begun[claim.player] == nil, book.records.isHeld(claim) else { continue }
            begun[claim.player] = (claim, try now())
            return OGSClient.LookRequest(claim.player, entityTag: book.records.tag(claim.record))
        }
        return nil
    }

    private func take(_ outcome: LookOutcome, of player: PlayerID) throws(Failure) {
        guard let (claim, began) = begun.removeValue(forKey: player) else { return }
        do throws(Failure) {
            try note(outcome, claim, began)
        } catch {
            // One player's document must not keep the others waiting, and says nothing about OGS.
            count.failed += 1
            if case .later = error.disposition {
                book.records.release(claim)
            } else {
                book.records.recordFailure(claim.record, at: schedule.time)
            }
            schedule.log.failure(error)
        }
    }

    private func note(_ outcome: LookOutcome, _ claim: Claim, _ began: Timestamp) throws(Failure) {
        switch outcome {
        case .games(let found, let tag):
            try noteAnswer()
            let told = try book.take(
                found, entityTag: tag, of: claim.player, record: claim.record, began: began)
            if told == nil { count.unchanged += 1 }
            noteTold(told, claim.player, skipped: found.skipped)
        case .unchanged:
            try noteAnswer()
            count.unchanged += 1
            let told = try book.takeUnchanged(of: claim.player, record: claim.record, began: began)
            noteTold(told, claim.player, skipped: 0)
        case .unknownPlayer:
            if book.records.isKnown(claim.record) { count.lost += 1 }
            book.records.recordUnknownPlayer(claim.record, at: schedule.time)
            logFailure(claim, "Online-Go.com knows no such player")
        case .outage(let reason):
            if book.records.isKnown(claim.record) { count.lost += 1 }
            book.records.recordFailure(claim.record, at: schedule.time)
            logFailure(claim, reason)
            if !hasSound || !claim.hasFailed { count.outages += 1 }
            if isDown(after: min(5, count.expected)) { try leaveAlone(wish: nil) }
        case .backOff(let wish):
            count.putOff += 1
            book.records.release(claim)
            try leaveAlone(wish: wish)
        case .notLooked:
            count.putOff += 1
            book.records.release(claim)
        }
    }

    /// Whether OGS told of any player; `nil` where it was asked about none whom it knew before.
    var isAnswered: Bool? { count.looked > 0 ? true : count.lost > 0 ? false : nil }

    /// Whether so many players went without a sensible answer, and nobody got one.
    private func isDown(after failures: Int) -> Bool {
        count.looked == 0 && count.outages >= failures
    }

    private func noteAnswer() throws(Failure) {
        count.looked += 1
        // What was under way when OGS complained may still be answered.
        guard let backOff, !backOff.isActive(at: try now()) else { return }
        self.backOff = nil
        try state.setBackOff(nil)
    }

    private func noteTold(_ told: TurnNotifier.Report?, _ player: PlayerID, skipped: Int) {
        if let notice = told?.notice {
            count.notices += 1
            schedule.log.event(
                "queued a notice", ["player": .string("\(player)"), "id": .string(notice)])
        }
        if skipped > 0 {
            schedule.log.event(
                "left out games that make no sense",
                ["player": .string("\(player)"), "games": .integer(Int64(skipped))])
        }
    }

    private func logFailure(_ claim: Claim, _ reason: String) {
        count.failed += 1
        schedule.log.event(
            "unable to look at a player",
            ["player": .string("\(claim.player)"), "reason": .string(reason)])
    }

    /// Several players may hear of one refusal: it counts once a cycle.
    private func leaveAlone(wish: Interval?) throws(Failure) {
        let now = try now()
        guard backOff?.isActive(at: now) != true else { return }
        let next = BackOff(after: backOff, requested: wish, now: now)
        backOff = next
        try state.setBackOff(next)
        schedule.log.event(
            "leaving Online-Go.com alone", ["until": .string(CalendarDate(next.until).text)])
    }

    private func giveBack() {
        for claim in due { book.records.release(claim) }
        for (claim, _) in begun.values { book.records.release(claim) }
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
