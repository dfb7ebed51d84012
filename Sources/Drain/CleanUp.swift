import Documents
import Edge
import Store
import Turnstone
import Unix

/// Applies a run's verdicts to the devices' registrations.
///
/// It waits until many changes have gathered or the run ends. Only then can it tell whether so many users
/// failed for the same reason that the fault must be ours: a wrong key, topic or environment. It counts
/// users, because one user can register any number of dead tokens. An earlier acceptance under the same
/// settings shows that key and topic are right. A change that is not applied now comes up again with the next
/// push to the device.
struct CleanUp {
    private let state: State
    private let log: Log
    /// The push service that gave the verdicts, and the fingerprint of its settings.
    private let service: String
    private let settings: String
    /// The prefix of its variables, for operators.
    private let variables: String
    /// The users to whose pushes the push service answered in this run.
    private var users = UserCount()
    /// The users with a device for which a push was accepted.
    private var reached = UserCount()
    /// The users with a device that failed, by fault.
    private var failures: [String: UserCount] = [:]
    /// The refusals of this run.
    private var refused: Refusals?
    /// Those that may not be the devices' fault, since a push was last accepted.
    private var faults: Refusals?
    /// The failures for which devices were kept in this run, and the users who have these.
    private var keptFaults: Set<String> = []
    private var keptUsers: Set<UserID> = []
    /// Those that only other settings end: no push was accepted in their environment.
    private var kept: [Kept: Refusals] = [:]
    /// The environments in which pushes were accepted under these settings in this run.
    private var accepting: Set<APNsEnvironment> = []
    /// How many users' devices earlier runs saw refused under these settings; `nil` until it is read.
    private var refusedEarlier: Int?
    /// The environments in which pushes were accepted before this run; `nil` until they are read.
    private var cachedAcceptances: Set<APNsEnvironment>?
    private var items: [Item] = []
    private var locking = ImpatientLocking()
    /// Whether a push was accepted since the last report for `health`.
    private var hasAccepted = false
    /// No report is made before this moment, except at the end of the run.
    private var nextReport = Instant.first

    /// The most users of each kind in memory. Fewer are recorded.
    private static let mostUsers = 1000

    /// Some of the users whose pushes were refused.
    private struct Refusals {
        private(set) var users: Set<UserID> = []
        /// The last reason.
        private(set) var reason = ""
        private(set) var first: Timestamp
        private(set) var last: Timestamp

        init(at moment: Timestamp) { (first, last) = (moment, moment) }

        /// Whether the settings or the service are the likely cause.
        var areMany: Bool { users.count >= State.ServiceRefusals.alarmThreshold }

        mutating func add(_ reason: String, to user: UserID, at moment: Timestamp) {
            if users.count < CleanUp.mostUsers { users.insert(user) }
            self.reason = reason
            last = moment
        }

        var seen: State.SeenRefusals { .init(reason, to: users, first: first) }
    }

    /// Failures for which devices were kept.
    private struct Kept: Hashable {
        let fault: String
        /// Where an acceptance shows that the settings are right; `nil` if it would show nothing.
        let environment: APNsEnvironment?
    }

    private struct Item {
        let user: UserID
        let token: DeviceToken
        let reason: String
        /// The reason under which the failure is counted; `nil` if no settings of ours can be the reason.
        let fault: String?
        let environment: APNsEnvironment?
        /// False if the other environment, which may know the token, refused to look it up.
        let isCertain: Bool
        let change: RegistrationChange
        /// The time of the verdict.
        let moment: Timestamp
    }

    init(state: State, provider: any Provider, log: Log) {
        self.state = state
        self.log = log
        service = provider.name
        settings = provider.settings
        variables = provider.title.variables
    }

    /// Continues with a provider that may have other settings. Verdicts under the old settings are dropped:
    /// the next pushes to those devices get new ones.
    mutating func follow(_ provider: any Provider) {
        guard provider.settings != settings else { return }
        recordRefusals()
        recordAcceptances()
        self = CleanUp(state: state, provider: provider, log: log)
    }

    /// - Parameter environment: where the push's device was looked for first; `nil` without a push service.
    mutating func record(
        _ push: Push, _ verdict: Verdict, in environment: APNsEnvironment?, at now: Timestamp
    ) {
        guard let user = push.job.file.user(of: push.delivery) else { return }
        guard let status = verdict.status else {
            // Nothing was asked: only what is wrong with the registration itself counts.
            guard let change = verdict.change, let token = push.delivery.token else { return }
            return items.append(
                Item(
                    user: user, token: token, reason: verdict.reason ?? "", fault: nil,
                    environment: environment, isCertain: true, change: change, moment: now))
        }
        users.insert(user)
        if case .settled(.accepted) = verdict.meaning, let place = push.probe ?? environment {
            if accepting.insert(place).inserted {
                kept = kept.filter { $0.key.environment != place }
            }
            reached.insert(user)
            faults = nil
            hasAccepted = true
        }
        if case .settled(.refused) = verdict.meaning {
            // Also of a device whose token is another app's: with a wrong topic, all are.
            let reason = verdict.reason ?? "HTTP \(status)"
            faults = faults ?? Refusals(at: now)
            faults?.add(reason, to: user, at: now)
            countRefusal(reason, to: user, at: now)
        }
        guard let change = verdict.change, let token = push.delivery.token else { return }
        let reason = verdict.reason ?? ""
        let fault = verdict.isUncertain ? "\(reason), in one environment" : reason
        if verdict.reason != nil { failures[fault, default: UserCount()].insert(user) }
        switch change {
        case .refuse(_, let moment), .remove(let moment, mayBeOurFault: true):
            countRefusal(reason, to: user, at: moment)
        case .remove, .move: break
        }
        items.append(
            Item(
                user: user, token: token, reason: reason, fault: fault, environment: environment,
                isCertain: !verdict.isUncertain, change: change, moment: now))
    }

    /// Changes the registrations. A document that is busy or damaged is logged; the deliveries keep their
    /// outcomes.
    mutating func carryOut() {
        recordRefusals()
        while !items.isEmpty, !ThisProcess.isTerminationRequested { carryOutOne() }
        recordRefusals(isLast: true)
        for fault in keptFaults.sorted() {
            log.event(
                "kept devices that failed, because our settings may be the reason; check the \(variables) variables",
                [
                    "reason": .string(fault),
                    "failed": .integer(Int64(failed(for: fault))),
                    "users": .integer(Int64(users.count)),
                ])
        }
        recordAcceptances()
        cachedAcceptances = nil
        refused = nil
        faults = nil
        keptFaults = []
        keptUsers = []
        kept = [:]
        refusedEarlier = nil
        locking = ImpatientLocking()
        nextReport = .first
    }

    private mutating func countRefusal(
        _ reason: String, to user: UserID, at moment: Timestamp
    ) {
        refused = refused ?? Refusals(at: moment)
        refused?.add(reason, to: user, at: moment)
    }

    /// Whether nothing proves that key, topic and environment are right.
    private var isUnproven: Bool {
        mutating get { accepting.isEmpty && acceptedEarlier.isEmpty }
    }

    /// Reports to `health` without waiting for the end of the run: on a busy installation it may last for
    /// days.
    private mutating func reportNews() {
        guard Instant.now >= nextReport, hasAccepted || !kept.isEmpty || isRefusedByAll
        else { return }
        nextReport = .now + .minutes(1)
        recordRefusals()
    }

    /// Whether the refusals of this run alone are reason for an alarm. If key and topic were right before, it
    /// takes a minute without an acceptance.
    private var isRefusedByAll: Bool {
        mutating get {
            guard let refused, refused.areMany else { return false }
            if isUnproven { return true }
            guard let faults, faults.areMany else { return false }
            return faults.last - faults.first >= .minutes(1)
        }
    }

    /// Records for `health` to which users pushes were refused and whose devices were kept, and removes what is
    /// over by now. If this fails, another run does it.
    ///
    /// - Parameter isLast: whether it is the run's last report.
    private mutating func recordRefusals(isLast: Bool = false) {
        let kept = keptRefusals
        let isUnproven = self.isUnproven
        let seen = isUnproven ? unprovenRefusals : refusalsSinceAcceptance(isLast: isLast)
        let (hasAccepted, accepting) = (self.hasAccepted, self.accepting)
        // This run would have kept the devices of earlier runs again, if it had pushed to them and they still failed.
        let isOver = isLast && items.isEmpty && kept == nil
        guard hasAccepted || seen != nil || kept != nil || isOver && !accepting.isEmpty else {
            return
        }
        do throws(Failure) {
            try state.recordRefusals(
                seen, keeping: isUnproven ? nil : kept, by: service, under: settings
            ) { known in
                guard known.areKept else { return hasAccepted }
                return !accepting.isEmpty && (isOver || known.environments.isSubset(of: accepting))
            }
            self.hasAccepted = false
        } catch { log.failure(error) }
    }

    /// The failures for which devices are kept.
    private var keptRefusals: State.SeenRefusals? {
        guard let first = kept.values.map({ $0.first }).min() else { return nil }
        let faults = Set(kept.keys.map { $0.fault }).sorted()
        var refusals = State.SeenRefusals(faults.joined(separator: "; "), to: [], first: first)
        for (kind, failed) in kept {
            refusals.users.formUnion(failed.users)
            if let environment = kind.environment { refusals.environments.insert(environment) }
        }
        return refusals
    }

    /// All refusals of this run, while nothing proves that the settings are right.
    private var unprovenRefusals: State.SeenRefusals? {
        guard var refusals = keptRefusals ?? refused?.seen else { return nil }
        refusals.environments = []
        if let refused {
            refusals.users.formUnion(refused.users)
            refusals.first = min(refusals.first, refused.first)
        }
        return refusals
    }

    /// The refusals since a push was last accepted, if they show more than that some devices are kept.
    private mutating func refusalsSinceAcceptance(isLast: Bool) -> State.SeenRefusals? {
        guard var seen = faults?.seen else { return nil }
        if isRefusedByAll { return seen }
        seen.users.subtract(keptUsers)
        // Of so many, or before each has been looked at, those whose devices are not kept cannot be told.
        guard keptUsers.count < Self.mostUsers, items.isEmpty else { return nil }
        return isLast && !seen.users.isEmpty ? seen : nil
    }

    /// How many users' devices were refused, in this run or in earlier ones.
    private var refusedUsers: Int {
        mutating get {
            var earlier = refusedEarlier
            if earlier == nil {
                do throws(Failure) {
                    earlier = try state.refusals(by: service, under: settings)?.users
                } catch { log.failure(error) }
                refusedEarlier = earlier ?? 0
            }
            return max(earlier ?? 0, refused?.users.count ?? 0)
        }
    }

    /// Changes one registration if more than 1000 changes wait. Pushes go on meanwhile.
    mutating func carryOutSome() {
        reportNews()
        if items.count > 1000 { carryOutOne() }
    }

    private mutating func carryOutOne() {
        guard let item = items.popLast() else { return }
        if let fault = item.fault, isOurFault(item) { return keep(item, fault) }
        do throws(Failure) {
            try locking.changing(state.users[item.user].lock) { () throws(Failure) in
                try carryOut(item)
            }
        } catch { log.failure(error) }
    }

    /// Records that a device was kept because the fault seems to be ours.
    private mutating func keep(_ item: Item, _ fault: String) {
        keptFaults.insert(fault)
        if keptUsers.count < Self.mostUsers { keptUsers.insert(item.user) }
        let environment = item.isCertain ? item.environment : nil
        // From the next run on, this run's acceptances show that the settings are right.
        if let environment, accepting.contains(environment) { return }
        kept[
            Kept(fault: fault, environment: environment), default: Refusals(at: item.moment)
        ].add(fault, to: item.user, at: item.moment)
    }

    private func carryOut(_ item: Item) throws(Failure) {
        let event: String
        let registry = state.registry
        let user = try state.present(item.user)
        switch item.change {
        case .remove(let since, _):
            let removed = try registry.remove(item.token, of: user, goneSince: since)
            event = removed ? "removed a device" : "kept a device that registered again"
        case .refuse(let isBad, let moment):
            try registry.recordRefusal(
                item.reason, of: item.token, of: user, isBad: isBad, at: moment)
            event = isBad ? "quarantined a device" : "recorded a device's refusal"
        case .move(let environment):
            try registry.move(item.token, of: user, to: environment)
            event = "found a device in \(environment.rawValue)"
        }
        log.event(
            event,
            [
                "user": .string(user.text), "device": .string(item.token.description),
                "reason": .string(item.reason),
            ])
    }

    /// Whether a failure seems to be our fault: more than 20 % of at least 20 users failed for the same
    /// reason and were reached on no other device, and no earlier acceptance shows that key and topic are
    /// right. Before any push was accepted, refusals to three users are enough, in one run or in several, and
    /// one answer that wrong settings would explain.
    private mutating func isOurFault(_ item: Item) -> Bool {
        guard let fault = item.fault else { return false }
        switch item.change {
        case .remove(_, mayBeOurFault: true):
            if isUnproven { return true }
        case .refuse:
            if isUnproven, refusedUsers >= State.ServiceRefusals.alarmThreshold { return true }
        case .remove, .move: break
        }
        guard users.count >= 20, failed(for: fault) * 5 > users.count else { return false }
        guard item.isCertain, let environment = item.environment else { return true }
        return !acceptedEarlier.contains(environment)
    }

    /// The number of users with a device that failed for this reason and none that accepted a push.
    private func failed(for fault: String) -> Int {
        failures[fault]?.count(without: reached) ?? 0
    }

    private var acceptedEarlier: Set<APNsEnvironment> {
        mutating get {
            if let cachedAcceptances { return cachedAcceptances }
            var found: Set<APNsEnvironment> = []
            do throws(Failure) {
                found = try state.acceptances(of: service, under: settings)
            } catch { log.failure(error) }
            cachedAcceptances = found
            return found
        }
    }

    /// Records where pushes were accepted. If this fails, another run does it.
    private mutating func recordAcceptances() {
        guard !accepting.isEmpty else { return }
        do throws(Failure) {
            try state.recordAcceptances(in: accepting, of: service, under: settings)
        } catch { log.failure(error) }
        accepting = []
    }
}
