import Edge
import Store
import Turnstone
import Unix

/// What a run's verdicts mean for the devices' registrations.
///
/// It is carried out when many have gathered, or at the run's end: only then it is known whether so many
/// users failed alike that the fault must be ours, a wrong key, topic or environment. Users are counted,
/// since one user can register any number of dead tokens. An earlier acceptance under the same settings shows
/// that key and topic are right. What is not carried out now, the next push to the device brings up again.
struct CleanUp {
    private let state: State
    private let log: Log
    /// The push service whose verdicts these are, and what tells its settings from others.
    private let service: String
    private var settings: String
    /// Those to whom the push service's answers were, in the whole run.
    private var users = UserCount()
    /// Those of them with a device that a push was accepted for.
    private var reached = UserCount()
    /// Those with a device that failed, by what it failed for.
    private var failures: [String: UserCount] = [:]
    /// Some of those to whom pushes were refused for the devices' sake, and the last reason.
    private var refused: (reason: String, users: Set<UserID>, at: Timestamp)?
    /// Where pushes were accepted under these settings in this run.
    private var accepting: Set<APNsEnvironment> = []
    /// To how many users pushes were refused under these settings by earlier runs; `nil` until somebody asks.
    private var refusedEarlier: Int?
    /// Where pushes were accepted before this run; `nil` until somebody asks.
    private var vouched: Set<APNsEnvironment>?
    private var items: [Item] = []
    /// What `health` has heard of this run.
    private var reported = Reported.nothing

    private enum Reported: Int, Comparable {
        case nothing, refusals, acceptances

        static func < (left: Reported, right: Reported) -> Bool { left.rawValue < right.rawValue }
    }

    private struct Item {
        let user: UserID
        let token: DeviceToken
        let reason: String
        /// By what it is counted.
        let fault: String
        let environment: APNsEnvironment?
        /// Whether the other environment was asked where that counts.
        let isCertain: Bool
        let change: Change
    }

    enum Change {
        case remove(goneSince: Timestamp)
        /// It was refused for its own sake; `isBad`: no environment knows it.
        case refuse(isBad: Bool, at: Timestamp)
        /// It was found where it was not looked for at first.
        case move(to: APNsEnvironment)
    }

    init(state: State, provider: Provider, log: Log) {
        self.state = state
        self.log = log
        service = provider.name
        settings = provider.settings
    }

    /// Goes on with a provider that has other settings. The verdicts under the old ones count no more: the
    /// next pushes to those devices have verdicts of their own.
    mutating func follow(_ provider: Provider) {
        guard provider.settings != settings else { return }
        recordRefusals()
        recordAcceptances()
        self = CleanUp(state: state, provider: provider, log: log)
    }

    /// - Parameter environment: where the push's device was looked for first; `nil` where there is no push
    ///   service.
    mutating func record(_ push: Push, _ verdict: Verdict, in environment: APNsEnvironment?) {
        guard verdict.status != nil, let user = push.job.file.user(of: push.delivery) else {
            return
        }
        users.insert(user)
        if case .settled(.accepted) = verdict.meaning, let place = push.probe ?? environment {
            accepting.insert(place)
            reached.insert(user)
        }
        guard let change = verdict.change, let token = push.delivery.token else { return }
        let reason = verdict.reason ?? ""
        let fault = verdict.isUncertain ? "\(reason), in one environment" : reason
        if verdict.reason != nil { failures[fault, default: UserCount()].insert(user) }
        if case .refuse(_, let moment) = change { countRefusal(reason, to: user, at: moment) }
        items.append(
            Item(
                user: user, token: token, reason: reason, fault: fault, environment: environment,
                isCertain: !verdict.isUncertain, change: change))
    }

    /// Changes the registrations. A document that is busy or damaged is logged: the deliveries count all
    /// the same.
    mutating func carryOut() {
        recordRefusals()
        var kept: Set<String> = []
        while !items.isEmpty, !ThisProcess.isTerminationRequested {
            if let item = carryOutOne() { kept.insert(item.fault) }
        }
        for fault in kept.sorted() {
            log.event(
                "kept the devices of users who failed alike: so many did that key, topic or environment may be wrong",
                [
                    "reason": .string(fault),
                    "failed": .integer(Int64(failed(for: fault))),
                    "users": .integer(Int64(users.count)),
                ])
        }
        recordAcceptances()
        vouched = nil
        refused = nil
        refusedEarlier = nil
        reported = .nothing
    }

    private mutating func countRefusal(
        _ reason: String, to user: UserID, at moment: Timestamp
    ) {
        var users = refused?.users ?? []
        if users.count < State.Refusals.maximumUsers { users.insert(user) }
        refused = (reason, users, moment)
    }

    /// Whether nothing says that key, topic and environment are right.
    private var isUnproven: Bool {
        mutating get { accepting.isEmpty && acceptedEarlier.isEmpty }
    }

    /// Tells `health` at once: a run on a busy installation may go on for days.
    private mutating func reportNews() {
        let news: Reported =
            if !accepting.isEmpty {
                .acceptances
            } else if let refused, refused.users.count >= State.Refusals.alarmThreshold {
                .refusals
            } else {
                .nothing
            }
        guard news > reported else { return }
        reported = news
        recordRefusals()
    }

    /// Records for `health` to whom pushes were refused, as long as none was accepted. Where that fails,
    /// another run does.
    private mutating func recordRefusals() {
        do throws(Failure) {
            guard isUnproven else { return try state.forgetRefusals(by: service) }
            guard let refused else { return }
            try state.recordRefusals(
                refused.reason, to: refused.users, by: service, under: settings,
                at: refused.at)
        } catch { log.failure(error) }
    }

    /// To how many users pushes were refused, in this run and earlier ones.
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

    /// Changes one registration where many wait for it, while pushes go on.
    mutating func carryOutSome() {
        reportNews()
        if items.count > 1000 { carryOutOne() }
    }

    /// - Returns: the device that was kept because the fault seems to be ours.
    @discardableResult
    private mutating func carryOutOne() -> Item? {
        guard let item = items.popLast() else { return nil }
        if isOurFault(item) { return item }
        do throws(Failure) { try carryOut(item) } catch { log.failure(error) }
        return nil
    }

    private func carryOut(_ item: Item) throws(Failure) {
        let event: String
        let registry = state.registry
        switch item.change {
        case .remove(let since):
            let removed = try registry.remove(item.token, of: item.user, goneSince: since)
            event = removed ? "removed a device" : "kept a device that registered again"
        case .refuse(let isBad, let moment):
            try registry.recordRefusal(
                item.reason, of: item.token, of: item.user, isBad: isBad, at: moment)
            event = isBad ? "quarantined a device" : "recorded a device's refusal"
        case .move(let environment):
            try registry.move(item.token, of: item.user, to: environment)
            event = "found a device in \(environment.rawValue)"
        }
        log.event(
            event,
            [
                "user": .string(item.user.text), "device": .string(item.token.description),
                "reason": .string(item.reason),
            ])
    }

    /// More than 20 % of at least 20 users failed and were reached on no other device, and no earlier
    /// acceptance vouches for key and topic. Before anything was accepted at all, three users are enough, in
    /// one run or in several.
    private mutating func isOurFault(_ item: Item) -> Bool {
        if case .refuse = item.change, isUnproven, refusedUsers >= State.Refusals.alarmThreshold {
            return true
        }
        guard users.count >= 20, failed(for: item.fault) * 5 > users.count else { return false }
        guard item.isCertain, let environment = item.environment else { return true }
        return !acceptedEarlier.contains(environment)
    }

    /// How many users were reached on no device, and failed for this reason on one.
    private func failed(for fault: String) -> Int {
        failures[fault]?.count(without: reached) ?? 0
    }

    private var acceptedEarlier: Set<APNsEnvironment> {
        mutating get {
            if let vouched { return vouched }
            var found: Set<APNsEnvironment> = []
            do throws(Failure) {
                found = try state.acceptances(of: service, under: settings)
            } catch { log.failure(error) }
            vouched = found
            return found
        }
    }

    /// Notes where pushes were accepted; where that fails, another run notes it.
    private mutating func recordAcceptances() {
        guard !accepting.isEmpty else { return }
        do throws(Failure) {
            try state.recordAcceptances(in: accepting, of: service, under: settings)
        } catch { log.failure(error) }
        accepting = []
    }
}
