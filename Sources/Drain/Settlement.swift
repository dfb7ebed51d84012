import Spool
import Turnstone
import Unix

/// Takes in verdicts: those of the push service, and those about pushes that are not sent.
final class Settlement: RunPart {
    let run: Run
    private let service: Service
    private let queue: PushQueue
    private let locked: LockedDocuments
    private let order: SeriesOrder
    private let commits: Commits
    /// The number of pushes that the provider has.
    private(set) var inFlight = 0

    init(
        _ run: Run, _ service: Service, _ queue: PushQueue, _ locked: LockedDocuments,
        _ order: SeriesOrder, _ commits: Commits
    ) {
        self.run = run
        self.service = service
        self.queue = queue
        self.locked = locked
        self.order = order
        self.commits = commits
    }

    /// Records that a push is handed to the provider.
    func willSend(_ push: Push) {
        intake.log.append(sending: push.delivery, in: push.job.file, at: now)
        order.didHandOut(push)
        queue.didHandOut(push)
        if case .channel = push.aim { run.broadcastsUnderWay.insert(push.job.notification.id) }
        inFlight += 1
    }

    /// Takes in the push service's verdict.
    func settle(_ push: Push, _ verdict: Verdict) {
        inFlight -= 1
        order.didReturn(push)
        queue.didReturn(push)
        if case .channel = push.aim { run.broadcastsUnderWay.remove(push.job.notification.id) }
        settle(push, verdict, isSent: true)
    }

    /// Takes in a verdict.
    ///
    /// - Parameter isSent: whether the push was, or may have been, handed to the push service.
    func settle(_ push: Push, _ verdict: Verdict, isSent: Bool) {
        let job = push.job
        switch verdict.meaning {
        case .behind(let key): return order.wait(push, behind: key)
        case .busy: return locked.wait((job, push.original))
        case .probing:
            job.throttle?.take()
            if service.provider.isOwn(push) { service.didJudge() }
            append(verdict, of: push, nil, isSent: isSent)
            return willSend(push)
        case .notSent(let pause):
            if verdict.status != nil || verdict.obstacle != nil || isUnanswered(push, isSent) {
                service.didPutOff(push, verdict)
            }
            intake.log.append(notSent: push.delivery, in: job.file)
            // The push stays in hand, unless only its own gateway is unreachable.
            if run.isEnding || service.provider.trouble != nil || run.configuration.isChanging {
                return queue.putBack((job, push.original))
            }
            retry(push, after: pause, verdict)
        case .settled(let outcome):
            if verdict.isTooLarge, job.shrinkRelease() {
                intake.log.append(notSent: push.delivery, in: job.file)
                return queue.putBack((job, push.original))
            }
            settle(push, verdict, outcome, isSent: isSent)
        case .later(let interval):
            // Also during trouble: a connection that broke off is trouble until it is opened again.
            if isAsked(push, isSent) { service.didPutOff(push, verdict) }
            if needsReceipt(verdict, push) { append(verdict, of: push, nil, isSent: isSent) }
            if job.file.isInDoubt(push.delivery) {
                // Its user may leave the device before the push is repeated, and a newer state may replace it.
                if job.isForPlayer, let token = push.delivery.token { job.doubtful.append(token) }
                commits.recordAlert(of: push, isInDoubt: true)
            }
            retry(push, after: interval, verdict)
        case .stop:
            append(verdict, of: push, nil, isSent: isSent)
            retry(push, after: .seconds(0), verdict)
            service.stop(verdict.reason ?? "unknown")
        }
        job.open -= 1
        commits.endIfOver(job)
    }

    /// Lets a push wait for another attempt, or for its end if that comes first.
    private func retry(_ push: Push, after pause: Interval, _ verdict: Verdict) {
        let moment = now + pause
        let end = push.end.flatMap { $0 > now && $0 < moment ? $0 : nil }
        push.job.retry(notBefore: moment, orEndAt: end, because: verdict.reason)
    }

    /// Whether the push service was asked and did not decide: it was too busy, or the answer was lost.
    private func isUnanswered(_ push: Push, _ isSent: Bool) -> Bool {
        isAsked(push, isSent) && service.provider.trouble == nil
    }

    /// Whether the push was handed to the installation's own push service.
    private func isAsked(_ push: Push, _ isSent: Bool) -> Bool {
        isSent && service.provider.isOwn(push) && !run.isEnding
    }

    private func settle(_ push: Push, _ verdict: Verdict, _ outcome: Outcome, isSent: Bool) {
        let job = push.job
        if outcome != .accepted { recordDoubt(push) }
        if job.notification.badge != nil, outcome != .held {
            run.orLog { () throws(Failure) in
                try outcome == .accepted ? job.missOthers(of: push) : job.miss(push)
            }
        }
        append(verdict, of: push, outcome, isSent: isSent)
        if isSent, verdict.status != nil, service.provider.isOwn(push) { service.didJudge() }
        run.summary.count(outcome)
        job.record(verdict.reason, for: outcome)
        service.cleanUp.record(
            push, verdict, in: service.provider.environment(of: push), at: now)
        switch outcome {
        case .accepted:
            order.recordReached(push)
            if job.isForPlayer, let token = push.delivery.token { job.reached.append(token) }
            commits.recordAlert(of: push)
            for _ in push.delivery.hides { run.summary.count(.superseded) }
        case .refused, .gone, .quarantined: job.isRefused = true
        case .superseded: if verdict.endsOlder { order.recordReached(push) }
        case .expired, .cancelled, .damaged, .held: break
        }
        order.settle(push)
    }

    /// Whether a push that is tried again later gets a receipt. A push that waits for its user's own moment
    /// gets none, because a message may have a million of these. A push that is held for hours gets one.
    private func needsReceipt(_ verdict: Verdict, _ push: Push) -> Bool {
        if verdict.isEarly, push.job.notification.delayed != nil { return false }
        return verdict.heldFor == nil || push.job.file.pass == 1
            || push.job.file.isInDoubt(push.delivery)
    }

    private func append(
        _ verdict: Verdict, of push: Push, _ outcome: Outcome?, isSent: Bool
    ) {
        commits.didAppend()
        intake.log.append(
            Attempt(
                at: now, pushID: isSent ? push.id : nil, status: verdict.status,
                reason: verdict.reason, outcome: outcome, kind: verdict.kind,
                language: isSent ? push.language : nil),
            of: push.delivery, in: push.job.file)
    }

    /// Records a push without an answer that is not repeated: it may have arrived and changed an icon's
    /// number.
    private func recordDoubt(_ push: Push) {
        guard push.job.file.isInDoubt(push.delivery) else { return }
        push.job.isInDoubt = true
        // Nothing older may follow a push that may have arrived.
        order.recordReached(push)
        if push.job.isForPlayer, let token = push.delivery.token {
            push.job.doubtful.append(token)
        }
    }
}
