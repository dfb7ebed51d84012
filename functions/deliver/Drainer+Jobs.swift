import Documents
import Messages
import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// To be called when a job may be over.
    func noteEnd(of job: Job) {
        guard job.isPassOver, !job.isPassNoted else { return }
        job.isPassNoted = true
        if job.left > 0, job.damage == nil {
            intake.endPass(job.file, until: moment(of: job))
            oldestNote = oldestNote ?? Instant.now
        }
        ended.append(job)
    }

    private func moment(of job: Job) -> Timestamp {
        Spool.moment(
            for: job.notBefore ?? now, now: now, expires: job.notification.expires)
    }

    /// Makes the receipts durable when there are many, when they have waited for 25 ms, or when nothing more is
    /// to be expected. They were written each turn: only a power cut could take them.
    func commitIfDue() throws(Failure) {
        let moment = Instant.now
        if let failingSince, moment - failingSince < .milliseconds(100) { return }
        let isOld = oldestNote.map { moment - $0 >= .milliseconds(25) } ?? false
        guard isOld || inFlight == 0 || intake.log.pendingBytes >= 1 << 19 else { return }
        do throws(Failure) { try intake.log.commit() } catch { return try noteFailing(error) }
        failingSince = nil
        failedCommits = 0
        oldestNote = nil
        letGo()
        orLog { () throws(Failure) in
            try intake.log.turnPage(at: now)
            try intake.noteCheckpoint(after: 16 << 20)
        }
    }

    /// Does what can as well be done later.
    func orLog(_ work: () throws(Failure) -> Void) {
        do throws(Failure) { try work() } catch { log.failure(error) }
    }

    /// A disk that fails may work again in a moment, and until then nothing is sent. What it never takes is lost,
    /// and will be asked of the push service once more.
    private func noteFailing(_ failure: Failure) throws(Failure) {
        let moment = Instant.now
        if failingSince == nil { log.failure(failure) }
        failedCommits += 1
        if failedCommits > 50 { throw failure }
        failingSince = moment
    }

    /// Puts off or ends the jobs whose verdicts are durable.
    private func letGo() {
        let jobs = ended
        ended = []
        for job in jobs {
            let owner = owner(of: job)
            do throws(Failure) {
                try waitingBriefly(for: owner) { () throws(Failure) in try letGo(job) }
            } catch {
                let moment = Instant.now
                let isBusy = error.cause == "busy" && busy.canWait(for: owner)
                if !isBusy { log.failure(error) }
                stubborn.append((job, moment + .milliseconds(isBusy ? 20 : 1000), isBusy))
            }
        }
    }

    /// Whose documents are told of a notification's end.
    private func owner(of job: Job) -> BusyLine.Owner {
        job.notification.user.map { .recipient(.user($0)) } ?? .notification(job.notification.id)
    }

    private func letGo(_ job: Job) throws(Failure) {
        if let damage = job.damage {
            leave(job)
            return try intake.setAside(job.file, damage)
        }
        if job.left > 0 {
            let moment = moment(of: job)
            if !job.reached.isEmpty { try tellUserIfPossible(of: job) }
            try intake.putOff(job.file, until: moment)
            leave(job, putOffUntil: moment)
            summary.waiting += 1
            return logEvent(
                "put off: \(job.retries)", job, ["until": .string(CalendarDate(moment).text)])
        }
        try tellUserIfPossible(of: job)
        intake.finish(job.file, at: now)
        leave(job)
        oldestNote = oldestNote ?? Instant.now
        summary.finished += 1
        logEvent("finished: \(job.outcomes)", job)
    }

    private func logEvent(_ event: String, _ job: Job, _ more: JSONObject = [:]) {
        var fields: JSONObject = ["id": .string(job.notification.id)]
        fields["user"] = job.notification.user.map { .string($0.text) }
        for member in more.members { fields[member.name] = member.value }
        log.event(event, fields)
    }

    /// A document that nobody can read must not keep the notification for ever.
    private func tellUserIfPossible(of job: Job) throws(Failure) {
        do throws(Failure) { try tellUser(of: job) } catch {
            guard error.disposition == .broken else { throw error }
            log.failure(error)
        }
    }

    /// Notes in the user's document what must be there before the notification goes.
    private func tellUser(of job: Job) throws(Failure) {
        if job.left == 0 { try takeBackBadges(of: job) }
        guard let user = job.notification.user else { return }
        if job.notification.cargo == .release {
            if job.left == 0 { try spool.finishRelease(job.notification.id, now: now) }
        } else if !job.notification.messageIDs.isEmpty {
            // As earlier versions released what was held.
            try state.users[user].update { $0.held.finish(job.notification.id) }
        }
        if let told = job.notification.turns {
            try tellPlayer(told, of: job, isOver: job.left == 0)
        } else if job.notification.cargo == .turnBadge, job.changesIcons {
            try state.users[user].update { (document) throws(Failure) in
                if let waiting = job.waitingGames { document.noteShown(waiting, on: job.reached) }
                try recordDoubt(of: job, in: &document)
            }
        } else if job.notification.cargo == .turnBadge, job.left == 0,
            job.file.count(.expired) > 0, let player = user.player
        {
            // The clock was ahead, or nothing was sent for a day: the next look makes another one.
            try state.users[user].update { (document) throws(Failure) in
                try state.forgetJudgement(of: player, hint: document.record)
            }
        }
        try tellOthers(of: job)
    }

    /// Takes a message out of its users' badges where it has reached nobody: it was counted when it was first tried.
    private func takeBackBadges(of job: Job) throws(Failure) {
        let isHeld = job.file.count(.held) > 0
        guard let change = job.notification.badge, !job.file.isReached, !job.isInDoubt, !isHeld
        else { return }
        for user in job.badgeUsers {
            try Outbox(state, now: now).takeBackBadges([(job.notification.id, change)], of: user)
        }
    }

    func retryStubborn() {
        let moment = Instant.now
        ended += stubborn.filter { $0.moment <= moment }.map { $0.job }
        stubborn.removeAll { $0.moment <= moment }
    }

    func setAside(_ job: Job, _ failure: Failure) throws(Failure) {
        guard intake.isDamage(failure) else { throw failure }
        try intake.setAside(job.file, failure)
    }

    /// Ends a run: what was taken and not ended is left to the next one.
    func close() throws(Failure) {
        for group in groups.values { putBack(group.releaseAll()) }
        putBack(busy.takeAll())
        for job in queue.removeAll() { intake.leave(job.file) }
        hasLeftWork = !stubborn.isEmpty || intake.isStuck
        for (job, _, _) in stubborn { intake.leave(job.file) }
        stubborn = []
        groups = [:]
        telling = [:]
        try intake.log.commit()
        oldestNote = nil
        orLog { () throws(Failure) in
            try intake.noteCheckpoint()
            try intake.log.removeOld(at: now)
            try state.messages.removeOld(at: now)
        }
        intake.log.close()
    }
}
