// deliver: sends the accepted notifications in the spool to the push service.
//
//   in    a schedule's event, {} or nothing
//   out   {"finished": notifications that are over, "waiting": put off, "accepted": devices, …},
//         zeros left out; without APNs settings, each push before that, a line each
//   else  exit 100 misconfigured, 111 may work later; 0 at once if another process is delivering
//
// Ends after DELIVER_LINGER_SECONDS without work. On SIGTERM, it first waits for the answers to
// what it has sent.

import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

run("Sends what is in the spool to the push service, unless another process does.") {
    (schedule) throws(Failure) in
    let state = try State(schedule.variables)
    let settings = try DeliverySettings(schedule.variables)
    let provider = try Provider(settings.apns, schedule.variables, state: state)
    ThisProcess.deferTermination()
    let spools = Spools(state: state.folder)
    do throws(Failure) { try state.adoptStragglers() } catch { schedule.log.failure(error) }
    spools.completeJoints { schedule.log.failure($0) }
    let drainer = try Drainer(
        Configuration(schedule.variables), state: state, spools.spool(of: .apns),
        provider: provider, log: schedule.log)
    return try drainer.drain(linger: settings.linger)
}
