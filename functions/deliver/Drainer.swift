import Documents
import Edge
import Spool
import Store
import Turnstone
import Unix

/// The one process at a time that empties the spool.
///
/// Its loop takes notifications out, decides their pushes, hands them to the provider, takes in the verdicts,
/// makes those durable, and only then lets notifications go. Each of these steps is a type of its own.
final class Drainer: RunPart {
    let run: Run
    private let service: Service
    private let queue = PushQueue()
    private let locked = LockedDocuments()
    private let decisions: Decisions
    private let commits: Commits
    private let settlement: Settlement
    private var lastClaim = Instant.first
    private var lastLook = Instant.now

    init(_ configuration: Configuration, state: State, provider: Provider, log: Log)
        throws(Failure)
    {
        run = try Run(configuration, state: state, log: log)
        service = Service(run, provider)
        decisions = Decisions(run, queue, locked)
        commits = Commits(run, decisions, locked)
        settlement = Settlement(run, service, queue, locked, decisions.order, commits)
    }

    /// Delivers until nothing has come for `linger`, or somebody wants this process to end.
    func drain(linger: Interval) throws(Failure) -> JSONObject {
        repeat {
            guard let election = try spool.election() else {
                try reportStuckDrainer()
                break
            }
            election.beat(at: now)
            let delivered = Result { () throws(Failure) in try deliver(election, linger: linger) }
            // Before anybody else can tell that this run is over.
            if election.isCurrent { service.cleanUp.carryOut() }
            election.end()
            try delivered.get()
            // Whoever accepted something since the last look found the lock taken, and left it to us.
        } while try isWorkLeft()
        service.provider.close()
        log.unknownTimeZones()
        if let obstacle = run.obstacle { throw obstacle }
        return run.summary.members
    }

    private func isWorkLeft() throws(Failure) -> Bool {
        // What this run could not let go of, it would find again and again.
        guard !run.isEnding, !commits.hasLeftWork else { return false }
        if try service.isStopped() { return false }
        return try spool.hasReady()
    }

    private func reportStuckDrainer() throws(Failure) {
        guard let stuck = try spool.stuckDrainer(at: now) else { return }
        log.event(
            "another drainer gives no sign of life",
            [
                "process": .integer(Int64(stuck.process)),
                "since": .string(CalendarDate(stuck.since).text),
            ])
    }

    // MARK: The loop

    private func deliver(_ election: Election, linger: Interval) throws(Failure) {
        if try service.isStopped() { return }
        try intake.recover(at: now)
        try decisions.boxes.recover()
        var idleSince = Instant.now
        while true {
            run.now = try Environment.now(run.configuration.variables)
            guard election.isCurrent else {
                // Nothing more is written: what is in the new folder is another drainer's.
                throw Failure(
                    .later(seconds: 5),
                    "unable to go on: \(state.folder) was replaced while deliver was running. The next run delivers what is in it",
                    cause: "replaced")
            }
            election.beat(at: now)
            lookAround()
            try turn()
            guard settlement.inFlight == 0, commits.isDone else {
                idleSince = Instant.now
                continue
            }
            if run.isEnding { break }
            // What cannot be sent now waits where it is, as if there were nothing.
            if service.provider.trouble == nil, !queue.isEmpty || !locked.isEmpty {
                idleSince = Instant.now
            } else {
                let idle = Instant.now - idleSince
                if idle >= linger, try !isSomethingDueSoon(idle, linger) { break }
            }
        }
        if !queue.isEmpty { service.stopIfUnreachable() }
        try close()
    }

    /// Whether something waits for a moment so near that nobody else would be there in time. A run that does
    /// not linger is started by something that will.
    private func isSomethingDueSoon(_ idle: Interval, _ linger: Interval) throws(Failure) -> Bool {
        let near = ActivityFeed.window + .seconds(1)
        guard linger > .seconds(0), idle < linger + near, service.provider.trouble == nil,
            let due = try spool.nextDue(at: now)
        else { return false }
        return due - now <= near
    }

    /// Does what is done once a second.
    private func lookAround() {
        let moment = Instant.now
        guard moment - lastLook >= .seconds(1) else { return }
        lastLook = moment
        run.configuration.look()
        run.orLog { () throws(Failure) in try spool.keepLogShort() }
    }

    private func turn() throws(Failure) {
        let isChanging = run.configuration.isChanging
        if run.isEnding || isChanging {
            service.provider.giveBackUnsent()
            if isChanging, settlement.inFlight == 0 { service.reconfigure() }
        } else {
            run.orEnd { () throws(Failure) in try claim() }
            // A full disk ends the run before it can lose a verdict.
            if !queue.isEmpty { run.orEnd { () throws(Failure) in try intake.log.makeRoom() } }
        }
        let isSending = !run.isEnding && !run.configuration.isChanging && !commits.isFailing
        run.orEnd { () throws(Failure) in
            try service.provider.step(
                pause: .milliseconds(commits.isPending ? 2 : 20), at: now,
                next: { isSending ? self.nextPush() : nil },
                beforeSending: { () throws(Failure) in try self.intake.log.write() },
                verdict: { self.settlement.settle($0, $1) })
        }
        for job in queue.takeExhausted() { commits.endIfOver(job) }
        queue.putBack(locked.takeDue())
        commits.retryUnfinished()
        try commits.commitIfDue(isIdle: settlement.inFlight == 0)
        service.cleanUp.carryOutSome()
    }

    // MARK: Taking notifications

    /// Takes over more work: at once while there is more than was taken, else every 20 ms. Neither old nor
    /// new notifications shut the others out, or the urgent ones.
    private func claim() throws(Failure) {
        for file in try intake.takeCancelled() { try take(file, file.lane) }
        let moment = Instant.now
        guard queue.smallCount - queue.backlogCount < 500, moment - lastClaim >= .milliseconds(20)
        else { return }
        try decisions.boxes.release()
        let isAll = [
            try claim(upTo: 500) { () throws(Failure) in try intake.next(in: .urgent) },
            try claim(upTo: 250) { () throws(Failure) in try intake.nextDue(at: now) },
            try claim(upTo: 500) { () throws(Failure) in try intake.next(in: .normal) },
        ].allSatisfy { $0 }
        // Only when all other lanes were read to their ends.
        while isAll, queue.backlogCount < 500, let file = try intake.next(in: .backlog) {
            try take(file, .backlog)
        }
        while queue.bulkCount < PushQueue.mostBulk, let file = try intake.next(in: .bulk) {
            try take(file, .bulk)
        }
        if isAll { lastClaim = moment }
    }

    /// - Returns: whether there were fewer than `most`.
    private func claim(
        upTo most: Int, _ next: () throws(Failure) -> SpoolFile?
    ) throws(Failure) -> Bool {
        for _ in 0..<most {
            guard let file = try next() else { return true }
            try takeInTurn(file)
        }
        return false
    }

    /// Takes a notification, or moves it to the backlog if its recipients have enough deliveries in hand.
    private func takeInTurn(_ file: SpoolFile) throws(Failure) {
        let lane = file.lane
        if lane != .bulk {
            // A damaged file is set aside when it is taken.
            var isCrowded = false
            do throws(Failure) { isCrowded = try queue.isCrowded(file) } catch {}
            if isCrowded, intake.moveToBacklog(file) { return }
        }
        try take(file, lane)
    }

    private func take(_ file: SpoolFile, _ lane: Lane) throws(Failure) {
        let job = Job(file, lane)
        do throws(Failure) {
            try decisions.order.join(job)
            decisions.order.add(try queue.append(job), of: job)
        } catch {
            commits.leave(job)
            try commits.setAside(job, error)
        }
    }

    /// The next push to be sent, of those that the queue has.
    private func nextPush() -> Push? {
        // What is settled without being sent must not keep answers and signals waiting.
        var rest = 256
        while intake.log.pendingBytes < 1 << 20, rest > 0 {
            if rest < 256, ThisProcess.isTerminationRequested { break }
            rest -= 1
            let entry: PushQueue.Entry?
            do throws(Failure) { entry = try queue.popFirst() } catch { continue }
            guard let entry else { return nil }
            let push = Push(entry.job, entry.delivery)
            if let verdict = decisions.decide(push) {
                settlement.settle(push, verdict, isSent: false)
                continue
            }
            settlement.willSend(push)
            return push
        }
        return nil
    }

    /// Ends a run.
    private func close() throws(Failure) {
        decisions.order.removeAll()
        queue.putBack(locked.takeAll())
        decisions.turns.removeAll()
        try commits.close(leaving: queue.removeAll())
    }
}
