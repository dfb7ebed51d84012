import Edge
import Messages
import Queueing
import Spool
import Store
import Texts
import Turnstone
import Unix

/// The state that all parts of a drainer share.
final class Run {
    let state: State
    /// The queue that it empties.
    let spool: Spool
    let spools: Spools
    let intake: Intake
    let locked: LockedDocuments
    /// For a message in any queue. It waits only briefly for a document that is locked.
    let takeBackBadges: TakeBackBadges
    let log: Log
    var configuration: Configuration
    private var knownTexts: TextFolder?
    var summary = Summary()
    /// The notifications to channels that the provider has.
    var broadcastsUnderWay: Set<String> = []
    /// The time at the start of this turn of the loop.
    var now: Timestamp
    /// Why nothing more is sent.
    private(set) var obstacle: Failure?

    init(
        _ schedule: Schedule, state: State, _ queue: QueueName
    ) throws(Failure) {
        self.state = state
        configuration = Configuration(schedule.variables)
        log = schedule.log
        spools = state.spools
        let spool = spools.spool(queue)
        self.spool = spool
        let locked = LockedDocuments(state)
        self.locked = locked
        let takeBack: TakeBackBadges = { (id, change, users, areAll) throws(Failure) in
            try locked.waitingBriefly(for: .notification(id)) { () throws(Failure) in
                try Outbox(state, now: Environment.now(schedule.variables))
                    .takeBackBadges(change, by: id, among: users, areAll: areAll)
            }
        }
        takeBackBadges = takeBack
        intake = Intake(spool: spool, log: ReceiptLog(of: spool), takeBack: takeBack) {
            schedule.log.failure($0)
        }
        now = try Environment.now(schedule.variables)
    }

    /// The texts of turn notices in all languages.
    func texts() throws(Failure) -> TextFolder {
        if let knownTexts { return knownTexts }
        let log = log
        let texts = TextFolder(try TurnSettings(configuration.variables)) { log.failure($0) }
        knownTexts = texts
        return texts
    }

    /// Reads the configuration again. If that fails, it stays as it was.
    func reloadConfiguration() throws(Failure) {
        try configuration.reload()
        knownTexts = nil
    }

    /// Whether nothing more is sent and the drainer only waits for pushes in flight.
    var isEnding: Bool { obstacle != nil || ThisProcess.isTerminationRequested }

    /// Ends the run. The first reason counts.
    func end(_ reason: Failure) { obstacle = obstacle ?? reason }

    /// Does work that the whole run needs: a failure ends the run.
    func orEnd(_ work: () throws(Failure) -> Void) {
        do throws(Failure) { try work() } catch { end(error) }
    }

    /// Does work that can also be done later: a failure is logged.
    func orLog(_ work: () throws(Failure) -> Void) {
        do throws(Failure) { try work() } catch { log.failure(error) }
    }

    /// Does work with documents. One that nobody can read is logged: it must not keep a notification for ever.
    ///
    /// - Throws: what may pass, such as that a document is locked.
    func orLogIfBroken(_ work: () throws(Failure) -> Void) throws(Failure) {
        do throws(Failure) { try work() } catch {
            guard error.disposition == .broken else { throw error }
            log.failure(error)
        }
    }
}

/// A part of the drainer.
protocol RunPart {
    var run: Run { get }
}

extension RunPart {
    var state: State { run.state }
    var spool: Spool { run.spool }
    var intake: Intake { run.intake }
    var log: Log { run.log }
    var now: Timestamp { run.now }
}
