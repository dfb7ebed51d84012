import Edge
import Spool
import Store
import Turnstone
import Unix

/// The one process at a time that empties the spool.
final class Drainer {
    private let state: State
    private let spool: Spool
    private let variables: Variables
    private let provider: Provider
    private let log: Log
    private var cleanUp: CleanUp
    private var summary = Summary()

    /// What was claimed and is not settled, by id.
    private var open: [String: Notification] = [:]
    /// Which deliveries are to be handed to the provider, in order.
    private var queue = PushQueue()
    /// How many deliveries of an open notification have no verdict yet.
    private var missing: [String: Int] = [:]
    private var stop: DeliveryStop?
    private var lastClaim: Int64 = 0
    /// Whether the state folder says that delivery has stopped.
    private var isStopNoted = true

    init(state: State, variables: Variables, provider: Provider, log: Log) {
        self.state = state
        self.variables = variables
        self.provider = provider
        self.log = log
        spool = Spool(state: state.folder)
        cleanUp = CleanUp(state: state, log: log)
    }

    /// Delivers until nothing has come for `linger`, or somebody wants this process to end.
    func drain(linger: Interval) throws(Failure) -> JSONObject {
        var isFirst = true
        repeat {
            guard let election = try spool.election() else { break }
            if isFirst { try takeOver(spool.resume(at: now())) }
            isFirst = false
            let delivered = Result { () throws(Failure) in try deliver(linger: linger) }
            withExtendedLifetime(election) {}
            try delivered.get()
            // Whoever accepted something since the last look found the lock taken, and left it to us.
        } while try isWorkLeft()
        provider.close()
        cleanUp.carryOut()
        try spool.removeOldReceipts(at: now())
        if let stop { throw stopped(stop) }
        return summary.members
    }

    private func isWorkLeft() throws(Failure) -> Bool {
        guard stop == nil, !ThisProcess.isEndWanted else { return false }
        return try spool.hasReady()
    }

    private func stopped(_ stop: DeliveryStop) -> Failure {
        Failure(
            .later(seconds: 300), "unable to deliver: the push service says \(stop.reason)",
            cause: stop.reason)
    }

    private func deliver(linger: Interval) throws(Failure) {
        var idleSince = MonotonicClock.milliseconds
        while true {
            let isEnding = ThisProcess.isEndWanted || stop != nil
            if isEnding { try putBack() } else { try claim() }
            try provider.step(
                next: { isEnding ? nil : self.nextPush() },
                verdict: { (push, verdict) throws(Failure) in try self.note(verdict, of: push) })
            if !open.isEmpty {
                idleSince = MonotonicClock.milliseconds
            } else if isEnding || MonotonicClock.milliseconds - idleSince >= linger.milliseconds {
                return
            }
        }
    }

    /// Takes over more work, at most every 20 ms while there is enough to do or nothing new.
    private func claim() throws(Failure) {
        let moment = MonotonicClock.milliseconds
        guard queue.count < 1000, moment - lastClaim >= 20 else { return }
        lastClaim = moment
        try takeOver(spool.claim(limit: 200))
        try takeOver(spool.claimDue(at: now()))
    }

    private func takeOver(_ notifications: [Notification]) throws(Failure) {
        for notification in notifications {
            var notification = notification
            notification.expireIfOver(at: try now())
            notification.notBefore = nil
            open[notification.id] = notification
            missing[notification.id] = notification.deliveries.count { $0.outcome == nil }
            guard !notification.isSettled else {
                try finish(notification.id)
                continue
            }
            for index in notification.deliveries.indices
            where notification.deliveries[index].outcome == nil {
                queue.append(PushQueue.Place(id: notification.id, index: index))
            }
        }
    }

    private func nextPush() -> Push? {
        while let place = queue.popFirst() {
            guard let notification = open[place.id] else { continue }
            return Push(notification, place.index)
        }
        return nil
    }

    /// Gives back what has not been handed out: the next drainer takes it.
    private func putBack() throws(Failure) {
        provider.giveBackUnsent()
        while let place = queue.popFirst() {
            try forget(place, retryAfter: stop == nil ? .seconds(0) : .minutes(5))
        }
    }

    private func note(_ verdict: Verdict, of push: Push) throws(Failure) {
        let place = PushQueue.Place(id: push.notification.id, index: push.index)
        let moment = try now()
        open[place.id]?.deliveries[place.index].attempts.append(
            Delivery.Attempt(
                at: moment, status: verdict.status, reason: verdict.reason, pushID: push.id))
        switch verdict.meaning {
        case .settled(let outcome):
            open[place.id]?.deliveries[place.index].outcome = outcome
            summary.count(outcome)
            cleanUp.note(push, verdict)
            if outcome == .accepted { try noteAccepted() }
            try forget(place, retryAfter: nil)
        case .later(let interval):
            try forget(place, retryAfter: stop == nil ? interval : .minutes(5))
        case .stop:
            let stop = DeliveryStop(reason: verdict.reason ?? "unknown", since: moment)
            self.stop = stop
            try state.note(stop)
            try forget(place, retryAfter: .minutes(5))
        }
    }

    private func noteAccepted() throws(Failure) {
        guard isStopNoted else { return }
        try state.note(nil)
        isStopNoted = false
    }

    /// Counts a delivery as done with for now; with the last one its notification is put away.
    private func forget(_ place: PushQueue.Place, retryAfter: Interval?) throws(Failure) {
        if let retryAfter {
            let moment = try now() + retryAfter
            let earliest = open[place.id]?.notBefore ?? moment
            open[place.id]?.notBefore = min(earliest, moment)
        }
        missing[place.id, default: 1] -= 1
        if missing[place.id] == 0 { try finish(place.id) }
    }

    private func finish(_ id: String) throws(Failure) {
        guard let notification = open.removeValue(forKey: id) else { return }
        missing[id] = nil
        let moment = try now()
        guard notification.isSettled else {
            summary.waiting += 1
            return try spool.postpone(notification, until: notification.notBefore ?? moment)
        }
        do throws(Failure) {
            try settle(notification, at: moment)
        } catch {
            // The outcomes must not be lost with the attempt to note them.
            log.failure(error)
            try spool.postpone(notification, until: moment + .seconds(5))
        }
    }

    /// Notes in the user's document what must be there before the notification goes.
    private func settle(_ notification: Notification, at moment: Timestamp) throws(Failure) {
        if let told = notification.turns {
            let isAccepted = notification.deliveries.contains { $0.outcome == .accepted }
            try state.users.update(DocumentName(notification.user)) { user in
                user.adopt(told.turns, notice: told.notice)
                if isAccepted { user.lastNotification = moment }
            }
        }
        try spool.settle(notification, at: moment)
        summary.delivered += 1
        log.event(
            "delivered", ["id": .string(notification.id), "user": .string(notification.user.text)])
    }

    private func now() throws(Failure) -> Timestamp { try Environment.now(variables) }
}

extension Notification {
    fileprivate mutating func expireIfOver(at now: Timestamp) {
        guard expires <= now else { return }
        for index in deliveries.indices where deliveries[index].outcome == nil {
            deliveries[index].outcome = .expired
        }
    }
}

/// What a run came to.
private struct Summary {
    var delivered = 0
    var waiting = 0
    private var outcomes: [Delivery.Outcome: Int] = [:]

    mutating func count(_ outcome: Delivery.Outcome) { outcomes[outcome, default: 0] += 1 }

    var members: JSONObject {
        var members: JSONObject = [
            "delivered": .integer(Int64(delivered)), "waiting": .integer(Int64(waiting)),
        ]
        for outcome in [Delivery.Outcome.accepted, .refused, .gone, .quarantined] {
            members[outcome.rawValue] = .integer(Int64(outcomes[outcome] ?? 0))
        }
        return members
    }
}
