import Documents
import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// The one process at a time that empties the spool.
///
/// It goes round in turns: take notifications out, hand pushes to the provider, note its verdicts, make the
/// notes durable, and only then let notifications go.
final class Drainer {
    let state: State
    let spool: Spool
    let intake: Intake
    let log: Log
    var configuration: Configuration
    var provider: Provider
    var cleanUp: CleanUp
    var summary = Summary()

    var queue = PushQueue()
    /// By key, the series of which a notification is in hand.
    var groups: [String: SeriesGroup<PushQueue.Entry>] = [:]
    /// By box, the releases of held messages that failed, and why.
    var failedReleases: [String: (release: String, cause: String)] = [:]
    /// When they are tried again.
    var nextRelease = Instant.first
    /// When boxes are looked for again: there may be thousands of moments.
    var nextLookAtHeld = Instant.first
    /// Of messages that were asked for, the devices that their notifications in the spool were still for: no more than a hundred
    /// thousand, unless it is one message's.
    var openDevices: [String: Set<String>] = [:]
    /// By device, what the release under way to it brings.
    var bringing: [String: [Series]] = [:]
    /// By player, the notice in hand that tells of the player's turns, until the ledger says what became of it.
    var telling: [UserID: String] = [:]
    /// When this run began, where boxes had something in them then: see ``isHeldAlready(_:for:)``.
    var heldBefore: Timestamp?
    /// The user whose document was looked at last: many pushes in a row may be for the same.
    var lastUser: StoredDocument<User>.Snapshot?
    /// The session that was looked at last: thousands of pushes in a row may be for its listeners.
    var lastSession: StoredDocument<Holders>.Snapshot?
    /// The stamp of the document that was looked at last, and when: it holds for a millisecond.
    var lastStamp: (user: UserID, moment: Instant, stamp: Int64?)?
    /// Pushes that the provider has.
    var inFlight = 0
    /// Jobs whose pass is over, until the receipts say so durably.
    var ended: [Job] = []
    /// Jobs that could not be put off or ended, when that is tried again, and whether only since a document was locked.
    var stubborn: [(job: Job, moment: Instant, isBusy: Bool)] = []
    /// Pushes whose decision needs a document that somebody has locked.
    var busy = BusyLine()
    /// Whether the last round ended with something that is over and still in the spool.
    var hasLeftWork = false
    /// The moment of the present turn.
    var now: Timestamp
    private var lastClaim = Instant.first
    private var lastLook = Instant.now
    /// Why nothing more is sent.
    var obstacle: Failure?
    /// Whether the state folder says that the provider's queue has stopped.
    var isStopNoted = true
    /// Whether the state folder may say that the push service judges no pushes.
    var isFailureNoted = true
    /// Before this moment that need not be said: the service has just judged one, or it is said.
    var nextFailureNote = Instant.first
    /// The device whose push the service last put off for its number of pushes.
    var throttledDevice: String?
    /// When the oldest verdict came that is not durable, and when commits began to fail.
    var oldestNote: Instant?
    var failingSince: Instant?
    var failedCommits = 0

    init(_ configuration: Configuration, state: State, provider: Provider, log: Log)
        throws(Failure)
    {
        self.state = state
        self.configuration = configuration
        self.provider = provider
        self.log = log
        spool = Spool(state: state.folder)
        intake = Intake(spool: spool, log: ReceiptLog(state: state.folder)) { log.failure($0) }
        cleanUp = CleanUp(state: state, provider: provider, log: log)
        now = try Environment.now(configuration.variables)
    }

    /// Delivers until nothing has come for `linger`, or somebody wants this process to end.
    func drain(linger: Interval) throws(Failure) -> JSONObject {
        repeat {
            guard let election = try spool.election() else {
                try reportStuckDrainer()
                break
            }
            election.beat(at: now)
            let delivered = Result { () throws(Failure) in try deliver(election, linger: linger) }
            // Before anybody else can tell that this run is over.
            if election.isCurrent { cleanUp.carryOut() }
            election.end()
            try delivered.get()
            // Whoever accepted something since the last look found the lock taken, and left it to us.
        } while try isWorkLeft()
        provider.close()
        log.unknownTimeZones()
        if let obstacle { throw obstacle }
        return summary.members
    }

    private func isWorkLeft() throws(Failure) -> Bool {
        // What this run could not let go of, it would find again and again.
        guard obstacle == nil, !ThisProcess.isEndWanted, !hasLeftWork else { return false }
        if try isStopped() { return false }
        return try spool.hasReady()
    }

    private func reportStuckDrainer() throws(Failure) {
        guard let stuck = try spool.stuckDrainer(at: now) else { return }
        log.event(
            "another drainer gives no sign of life",
            [
                "process": .integer(Int64(stuck.process)),
                "since": .string(CalendarDate(stuck.since).text),
            ])
    }

    private func deliver(_ election: Election, linger: Interval) throws(Failure) {
        if try isStopped() { return }
        try intake.recover(at: now)
        try recoverHeld()
        var idleSince = Instant.now
        while true {
            now = try Environment.now(configuration.variables)
            guard election.isCurrent else {
                // Nothing more is written: what is in the new folder is another drainer's.
                throw Failure(
                    .later(seconds: 5),
                    "unable to go on: \(state.folder) was replaced while deliver was running. The next run delivers what is in it",
                    cause: "replaced")
            }
            election.beat(at: now)
            lookAround()
            try turn()
            guard inFlight == 0, ended.isEmpty, !stubborn.contains(where: \.isBusy),
                intake.log.pendingBytes == 0
            else {
                idleSince = Instant.now
                continue
            }
            if isEnding { break }
            // What cannot be sent now waits where it is, as if there were nothing.
            if provider.trouble == nil, !queue.isEmpty || !busy.isEmpty {
                idleSince = Instant.now
            } else {
                let idle = Instant.now - idleSince
                if idle >= linger, try !isSomethingDueSoon(idle, linger) { break }
            }
        }
        noteTrouble()
        try close()
    }

    /// Whether something waits for a moment so near that nobody else would be there in time. Who does not linger
    /// is started by something that will.
    private func isSomethingDueSoon(_ idle: Interval, _ linger: Interval) throws(Failure) -> Bool {
        let near = ActivityFeed.window + .seconds(1)
        guard linger > .seconds(0), idle < linger + near, provider.trouble == nil,
            let due = try spool.nextDue(at: now)
        else { return false }
        return due - now <= near
    }

    /// What is done once a second.
    private func lookAround() {
        let moment = Instant.now
        guard moment - lastLook >= .seconds(1) else { return }
        lastLook = moment
        configuration.look()
        orLog { () throws(Failure) in try spool.keepLogShort() }
    }

    var isEnding: Bool { obstacle != nil || ThisProcess.isEndWanted }

    private func turn() throws(Failure) {
        if isEnding || configuration.isChanging {
            provider.giveBackUnsent()
            if configuration.isChanging, inFlight == 0 { reconfigure() }
        } else {
            orEnd { () throws(Failure) in try claim() }
            // A full disk ends the run before it can lose a verdict.
            if !queue.isEmpty { orEnd { () throws(Failure) in try intake.log.makeRoom() } }
        }
        let isSending = !isEnding && !configuration.isChanging && failingSince == nil
        orEnd { () throws(Failure) in
            try provider.step(
                pause: .milliseconds(oldestNote == nil ? 20 : 2), at: now,
                next: { isSending ? self.nextPush() : nil },
                beforeSending: { () throws(Failure) in try self.intake.log.write() },
                verdict: { self.note($1, of: $0) })
        }
        for job in queue.takeExhausted() { noteEnd(of: job) }
        putBack(busy.takeDue())
        retryStubborn()
        try commitIfDue()
        cleanUp.carryOutSome()
    }

    /// Ends the run where something fails that all of it needs: what is in flight still comes home.
    private func orEnd(_ work: () throws(Failure) -> Void) {
        do throws(Failure) { try work() } catch { obstacle = obstacle ?? error }
    }

    /// Goes on with the configuration as it is now; with the old one, if the new one is of no use.
    private func reconfigure() {
        do throws(Failure) {
            try configuration.reload()
            let settings = try APNsSettings(configuration.variables)
            let changed = try Provider(settings, configuration.variables, state: state)
            provider.close()
            provider = changed
            cleanUp.follow(changed)
            isStopNoted = true
            isFailureNoted = true
            log.event("follows the changed configuration")
        } catch { log.failure(error) }
    }

    /// Takes over more work: at once while there is more than what was taken, else every 20 ms. Neither what has
    /// waited nor what is new shuts the other out, and neither what is urgent.
    private func claim() throws(Failure) {
        for file in try intake.lookForCallOffs() { try take(file, file.lane) }
        let moment = Instant.now
        guard queue.smallCount - queue.backlogCount < 500, moment - lastClaim >= .milliseconds(20)
        else { return }
        var isAll = true
        try releaseHeld()
        for round in 0..<500 {
            guard let file = try intake.next(in: .urgent) else { break }
            try takeInTurn(file, .urgent)
            isAll = isAll && round < 499
        }
        for round in 0..<250 {
            guard let file = try intake.nextDue(at: now) else { break }
            try takeInTurn(file, file.lane)
            isAll = isAll && round < 249
        }
        for round in 0..<500 {
            guard let file = try intake.next(in: .normal) else { break }
            try takeInTurn(file, .normal)
            isAll = isAll && round < 499
        }
        // Only when all other lanes were read to their ends.
        while isAll, queue.backlogCount < 500, let file = try intake.next(in: .backlog) {
            try take(file, .backlog)
        }
        while queue.bulkCount < PushQueue.mostBulk, let file = try intake.next(in: .bulk) {
            try take(file, .bulk)
        }
        if isAll { lastClaim = moment }
    }

    /// Takes a notification, or moves it to the backlog where its recipients have enough deliveries in hand.
    private func takeInTurn(_ file: SpoolFile, _ lane: Lane) throws(Failure) {
        if lane != .bulk {
            // A damaged file is set aside by whoever takes it.
            var isCrowded = false
            do throws(Failure) { isCrowded = try queue.isCrowded(file) } catch {}
            if isCrowded, intake.moveToBacklog(file) { return }
        }
        try take(file, lane)
    }

    private func take(_ file: SpoolFile, _ lane: Lane) throws(Failure) {
        let job = Job(file, lane)
        do throws(Failure) {
            try join(job)
            let deliveries = try queue.append(job)
            if lane != .bulk {
                let devices = deliveries.compactMap(\.device)
                for group in job.groups { group.add(job.notification, devices: devices) }
            }
        } catch {
            leave(job)
            try setAside(job, error)
        }
    }

    private func nextPush() -> Push? {
        // What is settled without being sent must not keep answers and signals waiting.
        var rest = 256
        while intake.log.pendingBytes < 1 << 20, rest > 0 {
            if rest < 256, ThisProcess.isEndWanted { break }
            rest -= 1
            let entry: PushQueue.Entry?
            do throws(Failure) { entry = try queue.popFirst() } catch { continue }
            guard let entry else { return nil }
            inFlight += 1
            var push = Push(entry.job, entry.delivery)
            if let verdict = decide(&push) {
                settle(push, verdict, isSent: false)
                continue
            }
            intake.log.append(sending: push.delivery, in: push.job.file, at: now)
            noteUnderWay(push)
            return push
        }
        return nil
    }
}
