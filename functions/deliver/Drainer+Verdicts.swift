import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// Takes in what the push service said of a push.
    func note(_ verdict: Verdict, of push: Push) {
        noteArrived(push)
        settle(push, verdict, isSent: true)
    }

    /// Takes in a verdict.
    ///
    /// - Parameter isSent: whether it was, or may have been, given to the push service.
    func settle(_ push: Push, _ verdict: Verdict, isSent: Bool) {
        let job = push.job
        inFlight -= 1
        switch verdict.meaning {
        case .behind(let key):
            if let device = push.device { groups[key]?.wait((job, push.original), for: device) }
            return
        case .busy:
            busy.wait((job, push.original))
            return
        case .probing:
            if provider.isOwn(push) { noteAnswer() }
            noteUnderWay(push)
            append(verdict, of: push, nil, isSent: isSent)
            intake.log.append(sending: push.delivery, in: job.file, at: now)
            inFlight += 1
            return
        case .notSent:
            intake.log.append(notSent: push.delivery, in: job.file)
            // It stays in hand, unless it is only its own gateway that cannot be reached.
            if isEnding || provider.trouble != nil || configuration.isChanging {
                return queue.putBack((job, push.original))
            }
            job.retry(notBefore: now + .seconds(5), because: verdict.reason)
        case .settled(let outcome):
            if outcome != .accepted { recordDoubt(push) }
            if job.notification.badge != nil, let user = job.file.user(of: push.delivery) {
                job.badgeUsers.insert(user)
            }
            append(verdict, of: push, outcome, isSent: isSent)
            if isSent, verdict.status != nil, provider.isOwn(push) { noteAnswer() }
            summary.count(outcome)
            job.note(verdict.reason, for: outcome)
            cleanUp.note(push, verdict, in: provider.environment(of: push))
            switch outcome {
            case .accepted: noteAccepted(push)
            case .refused, .gone, .quarantined: job.isRefused = true
            case .expired, .superseded, .cancelled, .damaged, .held: break
            }
            if !job.groups.isEmpty, let device = push.original.device {
                for group in job.groups {
                    putBack(group.settle(job.notification.id, on: device))
                }
            }
        case .later(let interval):
            if isSent, verdict.status != nil, provider.isOwn(push) {
                noteRefusalToAnswer(verdict, to: push)
            }
            // Of what waits for hours the receipts say so once.
            if verdict.heldFor == nil || job.file.pass == 1 || job.file.isInDoubt(push.delivery) {
                append(verdict, of: push, nil, isSent: isSent)
            }
            job.retry(notBefore: now + interval, because: verdict.reason)
        case .stop:
            append(verdict, of: push, nil, isSent: isSent)
            job.retry(notBefore: now, because: verdict.reason)
            stop(verdict.reason ?? "unknown", until: now + .minutes(5))
        }
        job.open -= 1
        noteEnd(of: job)
    }

    /// Lets pushes go on that waited for a newer one.
    func putBack(_ waited: [PushQueue.Entry]) {
        for entry in waited { queue.putBack(entry) }
    }

    private func append(
        _ verdict: Verdict, of push: Push, _ outcome: Outcome?, isSent: Bool
    ) {
        oldestNote = oldestNote ?? Instant.now
        intake.log.append(
            Attempt(
                at: now, pushID: isSent ? push.id : nil, status: verdict.status,
                reason: verdict.reason, outcome: outcome, trouble: verdict.trouble),
            of: push.delivery, in: push.job.file)
    }

    private func noteAccepted(_ push: Push) {
        noteReached(push)
        if push.job.isForPlayer, let token = push.delivery.token { push.job.reached.append(token) }
    }

    /// Records that nobody will know whether a push has arrived, and so changed the number on an icon.
    private func recordDoubt(_ push: Push) {
        guard push.job.file.isInDoubt(push.delivery) else { return }
        push.job.isInDoubt = true
        // Nothing older may come after what may have arrived.
        noteReached(push)
        if push.job.isForPlayer, let token = push.delivery.token {
            push.job.doubtful.append(token)
        }
    }

    /// A push service that judges pushes is one that can be reached and that takes our key.
    private func noteAnswer() {
        nextFailureNote = Instant.now + .milliseconds(60_000)
        if isStopNoted {
            isStopNoted = false
            note(nil)
        }
        if isFailureNoted {
            isFailureNoted = false
            orLog { () throws(Failure) in
                try state.note(failing: nil, of: provider.name, at: now)
            }
        }
    }

    /// A push service that has judged nothing for a minute and puts pushes off is one that an operator has to know of.
    private func noteRefusalToAnswer(_ verdict: Verdict, to push: Push) {
        let reason = verdict.reason ?? verdict.status.map { "\($0)" } ?? "unknown"
        if reason == "TooManyRequests" {
            // That is one device's own doing, unless it is said of others, too.
            defer { throttledDevice = push.device }
            guard let throttledDevice, throttledDevice != push.device else { return }
        }
        guard Instant.now >= nextFailureNote else { return }
        nextFailureNote = Instant.now + .milliseconds(60_000)
        isFailureNoted = true
        orLog { () throws(Failure) in
            try state.note(failing: reason, of: provider.name, at: now)
        }
    }

    /// Notes in the state folder whether the provider's queue has stopped. Where that fails, the next run tells.
    private func note(_ stop: DeliveryStop?) {
        do throws(Failure) { try state.note(stop, of: provider.name) } catch { log.failure(error) }
    }

    // MARK: Stops

    /// Ends the run: nothing more will be taken before somebody acts.
    private func stop(_ reason: String, until moment: Timestamp?) {
        guard obstacle == nil else { return }
        obstacle = Failure(
            .later(seconds: 300), "unable to deliver: the push service says \(reason)",
            cause: reason)
        noteStop(reason, until: moment)
    }

    private func noteStop(_ reason: String, until moment: Timestamp?) {
        note(
            DeliveryStop(
                service: provider.name, reason: reason, since: now, until: moment,
                settings: provider.settings))
    }

    /// Whether the provider refused these settings so lately that it need not be asked again.
    func isStopped() throws(Failure) -> Bool {
        do throws(Failure) {
            return try state.deliveryStop(of: provider.name)?.holds(for: provider.settings, at: now)
                ?? false
        } catch {
            // What nobody can read stops nobody.
            guard error.isOfOneFile || error.cause == "newer" else { throw error }
            log.failure(error)
            return false
        }
    }

    /// Ends the run where the provider cannot be reached: what there is to do waits where it is.
    func noteTrouble() {
        guard obstacle == nil, !queue.isEmpty, let reason = provider.trouble else { return }
        obstacle = Failure(
            .later(seconds: 30), "unable to deliver: no connection to the push service: \(reason)",
            cause: reason)
        let isTokenRefused = reason == "ExpiredProviderToken"
        noteStop(reason, until: isTokenRefused ? now + .minutes(20) : nil)
    }
}
