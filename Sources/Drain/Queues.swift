import Edge
import PushServices
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// The queues that this process looks after. It drains one itself, and starts a process for each other one
/// that has work, so that no queue can delay or stop another.
package final class Queues {
    private let schedule: Schedule
    private let state: State
    private let spools: Spools
    /// The queue that is drained here.
    private let own: Spool?
    private let companions: [Companion]
    private let provider: (PushService) -> ProviderSource
    private var configuration: Configuration
    private var summary = JSONObject()
    private var restarts = Restarts()

    /// - Parameters:
    ///   - drainable: whose queues this process can drain itself.
    ///   - services: whose queues it looks after if `TURNSTONE_QUEUE` does not say.
    ///   - provider: makes what sends a service's pushes.
    /// - Throws: misconfigured if `TURNSTONE_QUEUE` names no queue.
    package init(
        _ schedule: Schedule, _ state: State, drainable: [PushService],
        services: [PushService] = PushService.all,
        provider: @escaping (PushService) -> ProviderSource
    ) throws(Failure) {
        self.schedule = schedule
        self.state = state
        self.provider = provider
        configuration = Configuration(schedule.variables)
        let spools = state.spools
        self.spools = spools
        var queues: [Spool] = []
        if let (service, number) = try schedule.variables.queue() {
            queues = number.map { [spools.spool(of: service, $0)] } ?? spools.spools(of: service)
        } else {
            for service in services { queues += spools.spools(of: service) }
        }
        let own = queues.first { drainable.contains($0.service) }
        self.own = own
        companions = queues.filter { $0.queue != own?.queue }
            .map { Companion($0, spools, schedule.log) }
    }

    /// Delivers until no queue has had work for a while, or until this process is told to end.
    ///
    /// - Returns: the summary of all queues.
    /// - Throws: the first failure, once all others have ended.
    package func drain() throws(Failure) -> JSONObject {
        do throws(Failure) { try state.adoptStragglers() } catch { schedule.log.failure(error) }
        spools.completeJoints { schedule.log.failure($0) }
        do throws(Failure) { try spools.removeLeftCancellations() } catch {
            schedule.log.failure(error)
        }
        startCompanions()
        drainOwn()
        repeat {
            startCompanions()
            // Programs that accept something start another process for it. A path unit does not while this
            // one runs.
            if isOwnDue() { drainOwn() }
        } while !waitForCompanions() || waitForWork()
        if own == nil, let missing = companions.first(where: { $0.isMissing }) {
            let program = missing.spool.service.drainerProgram
            throw .misconfigured(
                "unable to deliver: TURNSTONE_QUEUE is \(missing.spool.queue.setting), but \(program) is not beside deliver; install it there, or start it by itself"
            )
        }
        var failure = restarts.failure
        for companion in companions {
            summary = summary.sum(with: companion.summary)
            failure = failure ?? companion.failure
        }
        if let failure { throw failure }
        return summary
    }

    private func drainOwn() {
        guard let own else { return }
        do throws(Failure) {
            // A timer starts it also where nobody has a device of this service.
            if !state.services.contains(own.service),
                try !spools.hasWork(for: own, at: schedule.now)
            {
                return
            }
            let drainer = try Drainer(
                of: own.queue, schedule, state: state,
                alongside: { [self] in startCompanions() }, provider: provider(own.service))
            let printed = try drainer.drain()
            summary = summary.sum(with: printed)
            restarts.ended(doingNothing: !printed.members.contains { $0.value != 0 })
        } catch { restarts.ended(doingNothing: true, error) }
    }

    private func isOwnDue() -> Bool {
        guard let own, restarts.next <= .now, !isEnding else { return false }
        do throws(Failure) {
            guard try spools.hasWork(for: own, at: schedule.now) else { return false }
            return try !own.isBeingDrained()
        } catch {
            restarts.ended(doingNothing: true, error)
            return false
        }
    }

    /// Whether nothing more is begun: this process is told to end, or each service has another number of
    /// queues by now.
    private var isEnding: Bool {
        if ThisProcess.isTerminationRequested { return true }
        return configuration.hasOtherShards(than: state.shards)
    }

    private func startCompanions() {
        let isEnding = isEnding
        for companion in companions {
            if isEnding {
                companion.terminate()
            } else {
                companion.startIfDue(at: schedule.now)
            }
        }
    }

    /// Waits for up to a second until a queue may get a drainer that has got work from another one: what a
    /// drainer does last may be to accept something for another queue, such as a badge.
    ///
    /// - Returns: whether there is such a queue.
    private func waitForWork() -> Bool {
        guard !isEnding else { return false }
        let all = companions.map { $0.restarts } + [restarts]
        guard let lastEnd = all.map({ $0.lastEnd }).max() else { return false }
        var moments = companions.filter {
            !$0.isMissing && hasNewWork($0.spool, $0.restarts, lastEnd)
        }
        .map { $0.restarts.next }
        if let own, hasNewWork(own, restarts, lastEnd) { moments.append(restarts.next) }
        guard let first = moments.min() else { return false }
        sleep(for: min(.seconds(1), max(.milliseconds(0), first - .now)))
        return true
    }

    /// Whether a queue has work since another queue's drainer has ended. Its own last one could not do that.
    private func hasNewWork(
        _ spool: Spool, _ restarts: Restarts, _ lastEnd: Instant
    ) -> Bool {
        guard restarts.failure == nil, restarts.lastEnd < lastEnd else { return false }
        do throws(Failure) {
            return try spool.needsDrainerAtOnce()
        } catch { return false }
    }

    /// Waits for up to a second.
    ///
    /// - Returns: whether all have ended.
    private func waitForCompanions() -> Bool {
        let deadline = Instant.now + .seconds(1)
        for companion in companions {
            guard companion.hasEnded(by: deadline) else { return false }
        }
        return true
    }
}
