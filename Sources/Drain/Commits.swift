import DequeModule
import Documents
import Messages
import Spool
import Store
import Turnstone
import Unix

/// Makes verdicts durable in the receipts. Only then does it finish notifications or put them off.
final class Commits: RunPart {
    let run: Run
    private let decisions: Decisions
    private let locked: LockedDocuments
    /// Jobs whose pass is over but whose receipts are not durable yet.
    private var ended: [Job] = []
    /// Jobs whose receipts are durable and that are finished or put off next.
    private var durable = Deque<Job>()
    /// Jobs that could not be put off or finished: when to try again, and whether a locked document is the
    /// reason.
    private var unfinished: [(job: Job, moment: Instant, isBusy: Bool)] = []
    /// Alerts that pushes have brought to listeners of sessions, and that are not recorded yet.
    private var alerts = Deque<BroughtAlert>()

    private struct BroughtAlert {
        let job: Job
        let user: UserID
        let token: DeviceToken
        let alert: Push.ForeignAlert
        /// When it came.
        let since = Instant.now
        /// When to record it.
        var moment = Instant.first
        /// Whether the run waits for it: for half a minute if a document is locked.
        var isBusy = true
    }
    /// When the oldest verdict came that is not durable yet.
    private var oldestVerdict: Instant?
    /// Since when commits have failed, and how often.
    private var failingSince: Instant?
    private var failedCommits = 0
    /// Whether the run ended with notifications that it could not finish or put off.
    private(set) var hasLeftWork = false

    init(_ run: Run, _ decisions: Decisions, _ locked: LockedDocuments) {
        self.run = run
        self.decisions = decisions
        self.locked = locked
    }

    /// Whether everything is durable and no job waits for a locked document.
    var isDone: Bool {
        ended.isEmpty && durable.isEmpty && !alerts.contains(where: \.isBusy)
            && !unfinished.contains(where: \.isBusy)
            && intake.log.pendingBytes == 0
    }

    /// Whether commits fail. Nothing is sent meanwhile.
    var isFailing: Bool { failingSince != nil }

    /// Whether jobs are left that ``finishSome()`` can finish or put off at once.
    var isUnfinished: Bool { !durable.isEmpty }

    /// Whether a verdict is not durable yet.
    var isPending: Bool { oldestVerdict != nil }

    /// Records that a verdict was added to the receipts and is not durable yet.
    func didAppend() { oldestVerdict = oldestVerdict ?? Instant.now }

    /// Records soon that a push has brought a listener an alert of its other feed. The job does not leave the spool
    /// before.
    ///
    /// - Parameter isInDoubt: whether it only may have. The push is repeated then, with the alert.
    func recordAlert(of push: Push, isInDoubt: Bool = false) {
        guard let (user, alert) = push.foreignAlert, let token = push.delivery.token else { return }
        // The listener's own state would lose its alert, and with it the repeated push.
        if isInDoubt, case .own = alert { return }
        push.foreignAlert = nil
        push.job.unrecordedAlerts += 1
        alerts.append(BroughtAlert(job: push.job, user: user, token: token, alert: alert))
    }

    // MARK: Jobs

    /// Ends a job's pass if all its deliveries have their verdicts.
    func endIfOver(_ job: Job) {
        guard job.isPassOver, !job.isPassRecorded else { return }
        job.isPassRecorded = true
        if job.hasRest, job.damage == nil {
            intake.endPass(job.file, until: moment(of: job))
            didAppend()
        }
        ended.append(job)
    }

    private func moment(of job: Job) -> Timestamp {
        let isUnread = job.isCutShort && !job.file.isExhausted
        let moment = isUnread ? now : job.nextLook ?? now
        return Spool.moment(for: moment, now: now, expires: job.notification.expires)
    }

    /// Forgets a job that is no longer in hand.
    ///
    /// - Parameter moment: when its notification is tried again; `nil` if it is over.
    func leave(_ job: Job, putOffUntil moment: Timestamp? = nil) {
        decisions.turns.leave(job)
        decisions.order.leave(job, putOffUntil: moment)
    }

    /// Tries again to finish or put off the jobs for which that failed.
    func retryUnfinished() {
        let moment = Instant.now
        durable += unfinished.filter { $0.moment <= moment }.map { $0.job }
        unfinished.removeAll { $0.moment <= moment }
    }

    // MARK: Commits

    /// Makes the receipts durable if there are many, if the oldest has waited for 25 ms, or if nothing is in
    /// flight. They are written to the file in each turn of the loop, so only a power failure could lose them
    /// meanwhile.
    func commitIfDue(isIdle: Bool) throws(Failure) {
        let moment = Instant.now
        if let failingSince, moment - failingSince < .milliseconds(100) { return }
        let isOld = oldestVerdict.map { moment - $0 >= .milliseconds(25) } ?? false
        guard isOld || isIdle || intake.log.pendingBytes >= 1 << 19 else { return }
        do throws(Failure) { try intake.log.commit() } catch { return try didFail(error) }
        failingSince = nil
        failedCommits = 0
        oldestVerdict = nil
        durable += ended
        ended = []
        run.orLog { () throws(Failure) in
            try intake.log.switchDay(at: now)
            try intake.writeCheckpoint(after: 16 << 20)
        }
    }

    /// Logs the first failed commit, and throws after more than 50: a disk that fails may work again in a
    /// moment. Verdicts that are never stored are lost, and their pushes are sent again.
    private func didFail(_ failure: Failure) throws(Failure) {
        // The receipts are another drainer's now.
        if failure.cause == Election.replaced { throw failure }
        if failingSince == nil { log.failure(failure) }
        failedCommits += 1
        if failedCommits > 50 { throw failure }
        failingSince = Instant.now
    }

    /// Puts off or finishes jobs whose verdicts are durable: as many as there is time for in a turn of the
    /// loop.
    func finishSome() {
        recordAlerts(TimeSlice())
        let slice = TimeSlice()
        while !slice.isOver, let job = durable.popFirst() {
            guard job.unrecordedAlerts == 0 else {
                let isBusy = alerts.contains { $0.job === job && $0.isBusy }
                unfinished.append((job, Instant.now + .milliseconds(20), isBusy))
                continue
            }
            let owner = owner(of: job)
            do throws(Failure) {
                try locked.waitingBriefly(for: owner) { () throws(Failure) in
                    try finishOrPutOff(job)
                }
            } catch {
                let isBusy = error.cause == FailureCause.busy && locked.canWait(for: owner)
                if !isBusy { log.failure(error) }
                let pause = Interval.milliseconds(isBusy ? 20 : 1000)
                unfinished.append((job, Instant.now + pause, isBusy))
            }
        }
    }

    private func recordAlerts(_ slice: TimeSlice) {
        for _ in 0..<alerts.count {
            guard !slice.isOver, var next = alerts.popFirst() else { return }
            guard next.moment <= Instant.now else {
                alerts.append(next)
                continue
            }
            let owner = LockedDocuments.Owner.recipient(.user(next.user))
            do throws(Failure) {
                try locked.waitingBriefly(for: owner) { () throws(Failure) in
                    try decisions.activities.record(next.alert, on: next.token, of: next.user)
                }
            } catch {
                next.isBusy =
                    error.cause == FailureCause.busy
                    && Instant.now - next.since < .seconds(30)
                if !next.isBusy { log.failure(error) }
                if error.disposition != .broken {
                    next.moment = Instant.now + .milliseconds(next.isBusy ? 20 : 1000)
                    alerts.append(next)
                    continue
                }
            }
            next.job.unrecordedAlerts -= 1
        }
    }

    /// The owner of the documents that record a notification's end.
    private func owner(of job: Job) -> LockedDocuments.Owner {
        job.notification.user.map { .recipient(.user($0)) } ?? .notification(job.notification.id)
    }

    private func finishOrPutOff(_ job: Job) throws(Failure) {
        if let damage = job.damage {
            guard intake.isDamage(damage) else { throw damage }
            try intake.setAside(job.file, damage, besides: job.missed.users)
            return leave(job)
        }
        if job.hasRest {
            let moment = moment(of: job)
            if !job.reached.isEmpty || !job.doubtful.isEmpty || !job.missed.users.isEmpty {
                try recordEndIfPossible(of: job)
            }
            try intake.putOff(job.file, until: moment)
            leave(job, putOffUntil: moment)
            run.summary.waiting += 1
            return logEvent(
                "put off: \(job.retries)", job, ["until": .string(CalendarDate(moment).text)])
        }
        try recordEndIfPossible(of: job)
        // The rest is removed in the next turns.
        guard job.unremoved?.isEmpty ?? true else { return durable.append(job) }
        intake.finish(job.file, at: now)
        if job.throttle != nil {
            run.orLog { () throws(Failure) in
                try run.spools.removeThrottle(of: job.notification.id)
            }
        }
        leave(job)
        didAppend()
        run.summary.finished += 1
        logEvent("finished: \(job.outcomes)", job)
    }

    private func logEvent(_ event: String, _ job: Job, _ more: JSONObject = [:]) {
        var fields: JSONObject = ["id": .string(job.notification.id)]
        fields["user"] = job.notification.user.map { .string($0.text) }
        for member in more.members { fields[member.name] = member.value }
        log.event(event, fields)
    }

    private func recordEndIfPossible(of job: Job) throws(Failure) {
        try run.orLogIfBroken { () throws(Failure) in try recordEnd(of: job) }
    }

    /// Records in users' documents what must be there before the notification leaves the spool.
    private func recordEnd(of job: Job) throws(Failure) {
        let isOver = !job.hasRest
        try takeBackBadges(of: job)
        guard let user = job.notification.user else { return }
        if job.notification.cargo == .release {
            if isOver { try endRelease(job, to: user) }
        } else if !job.notification.messageIDs.isEmpty {
            // Earlier versions released held messages this way.
            try state.users[user].update { $0.held.finish(job.notification.id) }
        }
        try decisions.turns.recordEnd(of: job, isOver: isOver)
    }

    /// Takes a message out of the badges of those whom it did not reach. It was counted when it was first
    /// tried.
    ///
    /// - Parameter isLeft: whether the job's pass is not over, and another drainer goes on.
    private func takeBackBadges(of job: Job, isLeft: Bool = false) throws(Failure) {
        guard let change = job.notification.badge else { return }
        let hasReached = job.file.isReached || job.isInDoubt
        if job.notification.user != nil, hasReached { return }
        let count = job.missedDevices
        guard count > 0 || !job.missed.users.isEmpty else { return }
        // Only the receipts know the users of devices that ended earlier.
        let isAllKnown = isLeft || job.hasRest || job.missed.devices == count
        let only = job.notification.user
        try run.takeBackBadges(
            job.notification.id, change, only.map { [$0] } ?? job.missed.users,
            isAllKnown || only != nil)
    }

    /// Ends a release. It may have brought thousands of messages, so only those are removed for which there is
    /// time in a turn of the loop.
    private func endRelease(_ job: Job, to user: UserID) throws(Failure) {
        if job.unremoved == nil { job.unremoved = try endMessages(of: job, to: user) }
        var left = job.unremoved ?? []
        let slice = TimeSlice()
        defer { job.unremoved = left }
        try spool.remove(&left, now: now) { !slice.isOver }
        if left.isEmpty { try spool.finishRelease(job.notification.id, now: now) }
    }

    /// Takes the messages of a release that did not arrive out of the badge. Those that were hidden behind
    /// refused ones are released again.
    ///
    /// - Returns: the messages to remove.
    private func endMessages(of job: Job, to user: UserID) throws(Failure) -> [HeldMessage] {
        let release = job.notification.id
        var contents = job.release
        if contents == nil { contents = try spool.contents(of: release) }
        guard let (shown, hidden) = contents else { return [] }
        let isFailed = job.file.count(.refused) + job.file.count(.expired) > 0
        if isFailed { try spool.putBack(hidden, of: release, now: now) }
        let missed =
            (isFailed ? [] : hidden) + (job.file.isReached || job.isInDoubt ? [] : shown)
        for message in missed {
            guard let change = message.notification.badge else { continue }
            try Outbox(state, now: now).takeBackBadges(change, by: message.id, among: [user])
        }
        return shown + (isFailed ? [] : hidden)
    }

    /// Ends a run. The next run continues with the jobs that were taken and not finished.
    ///
    /// - Parameter jobs: the jobs with deliveries that have no verdict.
    func close(leaving jobs: [Job]) throws(Failure) {
        for job in jobs { intake.leave(job.file) }
        hasLeftWork = !unfinished.isEmpty || intake.isStuck
        for (job, _, _) in unfinished { intake.leave(job.file) }
        unfinished = []
        try intake.log.commit()
        // The pass of a throttled message may take days.
        for job in jobs {
            run.orLog { () throws(Failure) in try takeBackBadges(of: job, isLeft: true) }
        }
        oldestVerdict = nil
        run.orLog { () throws(Failure) in
            try intake.writeCheckpoint()
            try intake.log.removeOld(at: now)
            try run.spools.removeOldReceipts(of: spool.service, at: now)
            try state.messages.removeOld(at: now)
        }
        intake.log.close()
    }
}
