import Drain
import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// The queues that this process looks after. It drains one itself, and starts a process for each other one
/// that has work, so that no push service can delay or stop another.
final class Queues {
    private let schedule: Schedule
    private let state: State
    private let spools: Spools
    /// The queue that is drained here.
    private let own: PushService?
    private let companions: [Companion]
    private var summary = JSONObject()
    private var restarts = Restarts()

    /// - Throws: misconfigured if `TURNSTONE_QUEUE` names no push service.
    init(_ schedule: Schedule, _ state: State) throws(Failure) {
        self.schedule = schedule
        self.state = state
        let spools = Spools(state: state.folder)
        self.spools = spools
        let services: [PushService]
        switch try schedule.variables.queue() {
        case nil: (own, services) = (.apns, [.fcm, .web])
        case .web: (own, services) = (nil, [.web])
        case let service: (own, services) = (service, [])
        }
        companions = services.map { Companion($0, spools.spool(of: $0), schedule.log) }
    }

    /// Delivers until no queue has had work for a while, or until this process is told to end.
    ///
    /// - Returns: the summary of all queues.
    /// - Throws: the first failure, once all others have ended.
    func drain() throws(Failure) -> JSONObject {
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
            throw .misconfigured(
                "unable to deliver: TURNSTONE_QUEUE is \(missing.service.rawValue), but \(missing.service.drainerProgram) is not beside deliver; install it there, or start it by itself"
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
            // A timer starts it also where nobody has an Android phone.
            if !state.services.contains(own),
                try !spools.spool(of: own).hasWork(at: schedule.now)
            {
                return
            }
            let drainer = try Drainer(
                of: own, schedule, state: state, alongside: { [self] in startCompanions() },
                provider: provider(of: own))
            let printed = try drainer.drain()
            summary = summary.sum(with: printed)
            restarts.ended(doingNothing: !printed.members.contains { $0.value != 0 })
        } catch { restarts.ended(doingNothing: true, error) }
    }

    private func provider(of service: PushService) -> ProviderSource {
        let state = state
        return { (variables) throws(Failure) in
            if service == .fcm { return try FCMProvider(variables, state: state) }
            guard let settings = try APNsSettings(variables) else {
                return FileProvider(state: state)
            }
            return try APNsProvider(settings, variables, state: state)
        }
    }

    private func isOwnDue() -> Bool {
        guard let own, restarts.next <= .now, !ThisProcess.isTerminationRequested else {
            return false
        }
        do throws(Failure) {
            let spool = spools.spool(of: own)
            guard try spool.hasWork(at: schedule.now) else { return false }
            return try !spool.isBeingDrained()
        } catch {
            restarts.ended(doingNothing: true, error)
            return false
        }
    }

    private func startCompanions() {
        for companion in companions {
            if ThisProcess.isTerminationRequested {
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
        guard !ThisProcess.isTerminationRequested else { return false }
        let all = companions.map { $0.restarts } + [restarts]
        guard let lastEnd = all.map({ $0.lastEnd }).max() else { return false }
        var moments = companions.filter {
            !$0.isMissing && hasNewWork($0.service, $0.restarts, lastEnd)
        }
        .map { $0.restarts.next }
        if let own, hasNewWork(own, restarts, lastEnd) { moments.append(restarts.next) }
        guard let first = moments.min() else { return false }
        sleep(for: min(.seconds(1), max(.milliseconds(0), first - .now)))
        return true
    }

    /// Whether a queue has work since another queue's drainer has ended. Its own last one could not do that.
    private func hasNewWork(
        _ service: PushService, _ restarts: Restarts, _ lastEnd: Instant
    ) -> Bool {
        guard restarts.failure == nil, restarts.lastEnd < lastEnd else { return false }
        do throws(Failure) {
            return try spools.spool(of: service).needsDrainer(at: schedule.now)
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

extension JSONObject {
    /// The sums of two summaries' counts.
    func sum(with other: JSONObject) -> JSONObject {
        var sums = self
        for member in other.members {
            guard let count = member.value.integer else { continue }
            sums[member.name] = .integer((sums[member.name]?.integer ?? 0).saturatingAdd(count))
        }
        return sums
    }
}
