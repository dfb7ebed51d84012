// deliver: takes the accepted notifications out of the spool and gives them to their push service.
//
//   in    a schedule's event, {} or nothing
//   out   {"finished": notifications that are over, "waiting": put off, "accepted": devices, …}, without zeros;
//         with the provider `file` each push before that, a line each
//   else  exit 100 misconfigured, 111 may work later; 0 at once where another process delivers already
//
// Ends after DELIVER_LINGER_SECONDS without work. SIGTERM lets what is in flight come home first.

import Edge
import PushServices
import Spool
import Store
import Turnstone
import Unix

run("Delivers what is in the spool to the push service, unless another process does.") {
    (schedule) throws(Failure) in
    let state = try State(schedule.variables)
    let settings = try DeliverySettings(schedule.variables)
    let provider = try Provider(settings.apns, schedule.variables, state: state)
    ThisProcess.deferTermination()
    let drainer = try Drainer(
        Configuration(schedule.variables), state: state, provider: provider, log: schedule.log)
    return try drainer.drain(linger: settings.linger)
}
