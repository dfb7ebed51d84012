import Documents
import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// The process that empties the spool. Only one runs at a time.
///
/// Its loop takes notifications from the spool, decides about their pushes, hands the pushes to the provider,
/// takes in the verdicts, makes them durable, and only then finishes the notifications or puts them off. Each
/// of these steps is a type of its own.
package final class Drainer: RunPart {
    let run: Run
    private let alongside: () -> Void
    /// How long it waits for more work: `DELIVER_LINGER_SECONDS`.
    private let linger: Interval
    private let service: Service
    private let queue = PushQueue()
    private let locked: LockedDocuments
    private let decisions: Decisions
    private let commits: Commits
    private let settlement: Settlement
    private var lastClaim = Instant.first
    /// The time in this turn for pushes that are settled without being sent.
    private var unsentSlice = TimeSlice()
    /// Whether the last turn ended with it.
    private var isCutShort = false
    /// Whether the run ended with throttled pushes for which the clock, which stands still, leaves no time.
    private var hasLeftThrottled = false
    private var lastCheck = Instant.now
    /// Notifications that could not be moved to the present queues are tried again from this moment on.
    private var nextMove = Instant.first
    /// Failures that were logged once and are not repeated.
    private var reported: Set<String> = []

    /// - Parameters:
    ///   - alongside: called about once a second while it delivers.
    ///   - provider: called now, and again when the configuration has changed.
    package init(
        of name: QueueName, _ schedule: Schedule, state: State,
        alongside: @escaping () -> Void = {}, provider: @escaping ProviderSource
    ) throws(Failure) {
        linger = try schedule.variables.lingerInterval()
        run = try Run(schedule, state: state, name)
        self.alongside = alongside
        self.service = try Service(run, provider)
        locked = run.locked
        decisions = Decisions(run, queue, locked)
        commits = Commits(run, decisions, locked)
        settlement = Settlement(run, self.service, queue, locked, decisions.order, commits)
        queue.mayLeave = { [unowned self] in mayLeave($0) }
    }

    /// Delivers until no work has come for a while, or until this process is told to end.
    ///
    /// - Returns: the summary. Its members are 0 if another process delivers.
    package func drain() throws(Failure) -> JSONObject {
        completeInterrupted()
        // Move waiting notifications first, so that order is kept. A file that cannot be moved does not stop
        // delivery.
        do throws(Failure) { try moveFormer() } catch {
            guard error.file != nil else { throw error }
            log.failure(error)
            nextMove = .now + .minutes(1)
        }
        repeat {
            guard let election = try spool.election() else {
                try reportStuckDrainer()
                break
            }
            try election.beat(at: now)
            // A killed move may have accepted notifications of this queue in other queues.
            completeInterrupted()
            let delivered = Result { () throws(Failure) in try deliver(election) }
            // Before another process can tell that this run is over.
            if election.isCurrent { service.cleanUp.carryOut() }
            election.end()
            try delivered.get()
            // A program that accepted something since the last look found the lock taken and left the work to
            // us.
        } while try isWorkLeft()
        service.provider.close()
        log.unknownTimeZones()
        if let obstacle = run.obstacle { throw obstacle }
        return run.summary.members
    }

    private func isWorkLeft() throws(Failure) -> Bool {
        // This run would find again and again what it could not finish or put off.
        guard !run.isEnding, !commits.hasLeftWork, !hasLeftThrottled else { return false }
        if try service.isStopped() { return false }
        return try spool.hasReady()
    }

    private func reportStuckDrainer() throws(Failure) {
        try Self.reportStuckDrainer(of: spool, at: now, to: log)
    }

    /// Logs that a queue's drainer gives no sign of life, if that is so.
    package static func reportStuckDrainer(
        of spool: Spool, at now: Timestamp, to log: Log
    ) throws(Failure) {
        guard let stuck = try spool.stuckDrainer(at: now) else { return }
        var members: JSONObject = [
            "queue": .string(spool.queue.text), "process": .integer(Int64(stuck.process)),
            "since": .string(CalendarDate(stuck.since).text),
        ]
        if let host = stuck.host { members["host"] = .string(host) }
        log.event(
            "another drainer holds the queue but gives no sign of life: end its process if it hangs",
            members)
    }

    // MARK: The loop

    private func deliver(_ election: Election) throws(Failure) {
        if try service.isStopped() { return }
        intake.log.begin(election)
        try intake.recover(at: now)
        try decisions.boxes.recover()
        run.orLog { () throws(Failure) in try run.spools.sweepThrottles() }
        var idleSince = Instant.now
        while true {
            run.now = try Environment.now(run.configuration.variables)
            guard election.isCurrent else {
                // Write nothing more: the new folder belongs to another drainer.
                throw Failure(
                    .later(seconds: 5),
                    "stopped: \(state.folder) was replaced while deliver was running. The next run delivers from the new folder",
                    cause: "replaced")
            }
            try election.beat(at: now)
            checkOncePerSecond(election)
            try turn()
            let isPreparing = decisions.reader.isReading || decisions.boxes.isPreparing
            guard settlement.inFlight == 0, commits.isDone, run.isEnding || !isPreparing else {
                idleSince = Instant.now
                continue
            }
            if run.isEnding { break }
            // While the service is in trouble, pushes stay where they are and do not count as work.
            let isClockFrozen = Environment.isClockFrozen(run.configuration.variables)
            let isWaiting = isClockFrozen ? !queue.isWithoutOthers : !queue.isEmpty
            let isWorking = isWaiting || !locked.isEmpty || decisions.boxes.isCutShort
            if service.provider.trouble == nil, isWorking {
                idleSince = Instant.now
            } else {
                hasLeftThrottled = isClockFrozen && !queue.isEmpty
                let idle = Instant.now - idleSince
                if idle >= linger, try !isSomethingDueSoon(idle) { break }
            }
        }
        if !queue.isEmpty { service.stopIfUnreachable() }
        try close()
    }

    /// Whether something is due so soon that no other process would be there in time. A run that does not
    /// linger relies on the program or timer that started it to come back.
    private func isSomethingDueSoon(_ idle: Interval) throws(Failure) -> Bool {
        let near = ActivityFeed.window + .seconds(1)
        guard linger > .seconds(0), idle < linger + near, service.provider.trouble == nil,
            let due = try spool.nextDue(at: now)
        else { return false }
        return due - now <= near
    }

    /// Does once a second what need not be done in each turn.
    private func checkOncePerSecond(_ election: Election) {
        let moment = Instant.now
        guard moment - lastCheck >= .seconds(1) else { return }
        lastCheck = moment
        run.configuration.look()
        if !state.isLocal {
            run.orLog { () throws(Failure) in try endIfAsked(election) }
        }
        run.orLog { () throws(Failure) in try run.spools.keepLogShort() }
        completeInterrupted()
        run.orLog { () throws(Failure) in try moveFormer() }
        alongside()
    }

    /// Ends the run if a program on another machine needs the queue for itself.
    private func endIfAsked(_ election: Election) throws(Failure) {
        guard try spool.isAsked(election) else { return }
        run.end(
            Failure(
                .later(seconds: 1),
                "stopped: a program on another machine needs the queue, to erase a user. The next run delivers what is left",
                cause: "asked"))
    }

    /// Moves to the present queues what waits in those of another number of queues.
    private func moveFormer() throws(Failure) {
        guard Instant.now >= nextMove else { return }
        var found = Spools.FormerWork.left
        // Also if it stops halfway.
        defer { if found != .none { intake.forgetBacklog() } }
        found = try run.spools.moveFormer(
            of: spool.service, at: now, takeBack: run.takeBackBadges
        ) {
            [log] in log.failure($0)
        }
        if found == .left { nextMove = .now + .minutes(1) }
    }

    /// Completes what other processes have begun to accept, or have accepted in a state folder of an earlier
    /// version.
    private func completeInterrupted() {
        run.orLog { () throws(Failure) in try state.adoptStragglers() }
        run.spools.completeJoints {
            if reported.insert($0.sentence).inserted { log.failure($0) }
        }
    }

    private func turn() throws(Failure) {
        intake.beginTurn()
        let isChanging = run.configuration.isChanging
        if run.isEnding || isChanging {
            service.provider.giveBackUnsent()
            if isChanging, settlement.inFlight == 0 {
                service.reconfigure()
                endIfOutdated()
            }
        } else {
            run.orEnd { () throws(Failure) in try claim() }
            // End the run before a full disk can lose a verdict.
            if !queue.isEmpty { run.orEnd { () throws(Failure) in try intake.log.makeRoom() } }
        }
        let isSending = !run.isEnding && !run.configuration.isChanging && !commits.isFailing
        let isInHaste = isCutShort || commits.isUnfinished || decisions.reader.isReading
        let pause: Interval =
            .milliseconds(isInHaste ? 0 : commits.isPending ? 2 : 20)
        isCutShort = false
        unsentSlice = TimeSlice()
        run.orEnd { () throws(Failure) in
            try service.provider.step(
                pause: pause, at: now,
                next: { isSending ? self.nextPush() : nil },
                beforeSending: { () throws(Failure) in try self.announce() },
                verdict: { self.settlement.settle($0, $1) })
        }
        for job in queue.takeExhausted() { commits.endIfOver(job) }
        queue.putBack(locked.takeDue())
        commits.retryUnfinished()
        try commits.commitIfDue(isIdle: settlement.inFlight == 0)
        commits.finishSome()
        decisions.reader.readSome()
        service.cleanUp.carryOutSome()
    }

    /// Records which pushes are about to be sent, for whoever takes over from this drainer.
    private func announce() throws(Failure) {
        if state.isLocal {
            try intake.log.write()
        } else {
            try intake.log.writeForOthers()
        }
    }

    /// Ends the run if each service has another number of queues by now.
    private func endIfOutdated() {
        guard let shards = run.configuration.shards, shards != spool.queue.count else { return }
        run.end(
            Failure(
                .later(seconds: 1),
                "stopped: TURNSTONE_SHARDS has changed. The next run delivers from the new queues",
                cause: "shards"))
    }

    // MARK: Taking notifications

    /// Takes more notifications: at once while the lanes hold more than was taken, otherwise every 20 ms.
    /// Each lane has a limit, so that old, new and urgent notifications do not keep each other waiting.
    private func claim() throws(Failure) {
        for file in try intake.takeCancelled() { try take(file, file.lane) }
        let moment = Instant.now
        guard queue.smallCount - queue.backlogCount < 500, moment - lastClaim >= .milliseconds(20)
        else { return }
        try decisions.boxes.release()
        let areLanesRead = [
            try claim(upTo: 500) { () throws(Failure) in try intake.next(in: .urgent) },
            try claim(upTo: 250) { () throws(Failure) in try intake.nextDue(at: now) },
            try claim(upTo: 500) { () throws(Failure) in try intake.next(in: .normal) },
        ].allSatisfy { $0 }
        // Only after all other lanes were read to the end.
        while areLanesRead, queue.backlogCount < 500, let file = try intake.next(in: .backlog) {
            try take(file, .backlog)
        }
        while queue.streamedCount < PushQueue.mostStreamed,
            let file = try intake.next(in: .throttled)
        {
            try take(file, .throttled)
        }
        while queue.bulkCount < PushQueue.mostBulk, let file = try intake.next(in: .bulk) {
            try take(file, .bulk)
        }
        if areLanesRead { lastClaim = moment }
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

    /// Takes a notification, or moves it to the backlog if all its recipients have enough deliveries in hand or
    /// its user has some there, or to its lane if it is streamed and too many of those are in hand.
    private func takeInTurn(_ file: SpoolFile) throws(Failure) {
        let lane = file.lane
        if !lane.isStreamed {
            var isCrowded = intake.hasInBacklog(before: file)
            // Damage is ignored here: `take` sets a damaged file aside.
            if !isCrowded {
                do throws(Failure) { isCrowded = try queue.isCrowded(file) } catch {}
            }
            if isCrowded, intake.moveToBacklog(file) { return }
        } else if queue.streamedCount >= PushQueue.mostStreamed, intake.move(file, to: lane) {
            return
        }
        try take(file, lane)
    }

    private func take(_ file: SpoolFile, _ lane: Lane) throws(Failure) {
        let job = Job(file, lane, run.spools.throttle(of: file.notification))
        do throws(Failure) {
            try decisions.order.join(job)
            decisions.order.add(try queue.append(job), of: job)
        } catch {
            guard intake.isDamage(error) else {
                commits.leave(job)
                throw error
            }
            job.damage = error
            commits.endIfOver(job)
        }
    }

    /// Whether the next push of a throttled job may be decided about: if it may leave now, or need not leave
    /// at all.
    private func mayLeave(_ job: Job) -> Bool {
        guard let throttle = job.throttle else { return true }
        if job.notification.expires <= now || intake.isCancelled(job.file) { return true }
        // Deliveries that have failed must not wait for all others, and receipts not be kept for days.
        let age = Instant.now - job.began
        if age > .hours(1) || age > .minutes(1) && job.isRetryDue(at: now) { job.cutShort() }
        if job.isCutShort, job.again.isEmpty { return true }
        do throws(Failure) { return try throttle.isOpen(at: now) } catch {
            if reported.insert(error.sentence).inserted { log.failure(error) }
            // Nothing is known of the pushes that have left.
            return false
        }
    }

    /// The next push in the queue that must be sent.
    private func nextPush() -> Push? {
        while intake.log.pendingBytes < 1 << 20 {
            let entry: PushQueue.Entry?
            do throws(Failure) { entry = try queue.popFirst() } catch { continue }
            guard let entry else { return nil }
            let push = Push(entry.job, entry.delivery)
            if let verdict = decisions.decide(push) {
                settlement.settle(push, verdict, isSent: false)
                // Such pushes must not delay answers, signals and new notifications.
                isCutShort = unsentSlice.isOver || ThisProcess.isTerminationRequested
                if isCutShort { return nil }
                continue
            }
            push.job.throttle?.take()
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
