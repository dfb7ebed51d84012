import Store
import Turnstone
import Unix

/// Makes a provider by a configuration.
package typealias ProviderSource = (Variables) throws(Failure) -> any Provider

/// The push service as an operator sees it: whether it answers, and what stops its queue.
final class Service: RunPart {
    let run: Run
    private(set) var provider: any Provider
    private let makeProvider: ProviderSource
    var cleanUp: CleanUp
    /// Whether the state folder may still name a stop of the queue.
    private var isStopRecorded = true
    /// Whether the state folder may still say that the service judges no pushes.
    private var isFailureRecorded = true
    /// No failure is recorded before this moment: the service has just judged a push, or the failure is
    /// recorded already.
    private var nextFailureRecord = Instant.first
    /// The device whose push the service last put off with `TooManyRequests`.
    private var throttledDevice: String?
    /// The first user whose push went to an address that may not exist.
    private var strandedUser: UserID?

    init(_ run: Run, _ makeProvider: @escaping ProviderSource) throws(Failure) {
        self.run = run
        self.makeProvider = makeProvider
        provider = try makeProvider(run.configuration.variables)
        cleanUp = CleanUp(state: run.state, provider: provider, log: run.log)
    }

    /// Switches to the changed configuration, or keeps the old one if the new one cannot be used.
    func reconfigure() {
        do throws(Failure) {
            try run.reloadConfiguration()
            let changed = try makeProvider(run.configuration.variables)
            provider.close()
            provider = changed
            cleanUp.follow(changed)
            isStopRecorded = true
            isFailureRecorded = true
            log.event("now uses the changed configuration")
        } catch { log.failure(error) }
    }

    // MARK: Answers

    /// Records that the service judged a push: it can be reached and accepts our key.
    func didJudge() {
        nextFailureRecord = Instant.now + .minutes(1)
        if isStopRecorded {
            isStopRecorded = false
            record(nil)
        }
        if isFailureRecorded {
            isFailureRecorded = false
            run.orLog { () throws(Failure) in
                try state.setDeliveryFailure(nil, of: provider.name, at: now)
            }
        }
    }

    /// Records for the operator that the service puts pushes off, if it has judged none for a minute.
    func didPutOff(_ push: Push, _ verdict: Verdict) {
        let reason = verdict.reason ?? verdict.status.map { "\($0)" } ?? "no answer"
        if reason == "TooManyRequests" {
            // One device causes this by itself. It is reported only if a second device is affected.
            defer { throttledDevice = push.device }
            guard let throttledDevice, throttledDevice != push.device else { return }
        }
        if verdict.obstacle == .perhapsAddress, let user = push.job.file.user(of: push.delivery) {
            // One user may have made up any number of addresses. It is reported if a second user is affected.
            defer { strandedUser = strandedUser ?? user }
            guard let strandedUser, strandedUser != user else { return }
        }
        guard Instant.now >= nextFailureRecord else { return }
        nextFailureRecord = Instant.now + .minutes(1)
        isFailureRecorded = true
        run.orLog { () throws(Failure) in
            try state.setDeliveryFailure(reason, of: provider.name, at: now)
        }
    }

    // MARK: Stops

    /// Whether the service refused these settings so recently that it need not be asked again.
    func isStopped() throws(Failure) -> Bool {
        do throws(Failure) {
            return try state.deliveryStop(of: provider.name)?.holds(for: provider.settings, at: now)
                ?? false
        } catch {
            // A record that cannot be read stops nothing.
            guard error.isFileSpecific || error.cause == FailureCause.newer else { throw error }
            log.failure(error)
            return false
        }
    }

    /// Ends the run and stops the queue for five minutes, or until its settings change.
    func stop(_ reason: String) {
        guard run.obstacle == nil else { return }
        run.end(
            Failure(
                .later(seconds: 300),
                "unable to deliver: \(provider.title.service) refused this installation (\(reason)): check the \(provider.title.variables) variables; delivery stops for 5 minutes or until they change",
                cause: reason))
        recordStop(reason, until: now + .minutes(5))
    }

    /// Ends the run if the service cannot be reached. The notifications wait in the spool.
    func stopIfUnreachable() {
        guard run.obstacle == nil, let trouble = provider.trouble else { return }
        run.end(
            Failure(
                .later(seconds: 30), "unable to deliver: \(trouble.sentence)",
                cause: trouble.reason))
        recordStop(trouble.reason, until: trouble.pause.map { now + $0 })
    }

    private func recordStop(_ reason: String, until moment: Timestamp?) {
        record(
            DeliveryStop(
                service: provider.name, reason: reason, since: now, until: moment,
                settings: provider.settings))
    }

    /// If this fails, the next run records it.
    private func record(_ stop: DeliveryStop?) {
        run.orLog { () throws(Failure) in try state.setDeliveryStop(stop, of: provider.name) }
    }
}
