// check-turns: looks at every player who is due and queues a notice for each player whose turn it is.
//
//   in    a schedule's event, {} or nothing
//   out   {"due", "looked", "unchanged", "notices", "failed", "put_off"}, without zeros; with the provider
//         `file` a line for each push before it
//   else  exit 100 misconfigured, 111 may work later
//
// Of several at once one looks at players: the others wait for it for up to 5 s, and then end.

import Edge
import Queueing
import Spool
import Store
import Turnstone
import Unix

run("Looks for players whose turn it is on Online-Go.com, and queues a notification for each.") {
    (schedule) throws(Failure) in
    let state = try State(schedule.variables)
    let spools = state.spools
    let summary = try PlayerIndex.electing(in: state) { (index) throws(Failure) in
        let cycle = try Cycle(schedule, state: state, index: index)
        // First, so that these looks correct the icons.
        state.registry.finishHandOvers()
        let start = Instant.now
        let summary = try cycle.run()
        schedule.log.unknownTimeZones()
        // Queued notices are sent even if this cannot be recorded.
        do throws(Failure) {
            try index.save { schedule.log.failure($0) }
            try state.recordCycle(
                at: schedule.time, isAnswered: cycle.isAnswered, summary: summary,
                took: Instant.now - start)
        } catch { schedule.log.failure(error) }
        return summary
    }
    var fault: Failure?
    if try spools.hasWork(at: schedule.time) {
        // Without any push service the drainer prints the pushes, so wait for it.
        let isPrinting =
            !schedule.variables.namesPushService && state.services == PushServiceSet([.apns])
        let drainer = spools.startDrainer(
            schedule.variables, output: isPrinting ? .inherited : .null
        ) { fault = $0 }
        if isPrinting { drainer?.wait() }
    }
    // Last, because it may take some seconds. What stops one of them stops no other.
    do throws(Failure) { _ = try state.sweep(at: schedule.time) } catch {
        schedule.log.failure(error)
    }
    do throws(Failure) { try state.registry.reconcileUsers(at: schedule.time) } catch {
        schedule.log.failure(error)
    }
    do throws(Failure) { try spools.sweep(at: schedule.time) { schedule.log.failure($0) } } catch {
        schedule.log.failure(error)
    }
    do throws(Failure) { try state.migrateOwnLocks(within: .seconds(2), at: .systemNow) } catch {
        schedule.log.failure(error)
    }
    if let fault { throw fault }
    return summary ?? [:]
}
