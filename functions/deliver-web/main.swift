// deliver-web: sends the accepted notifications for browsers to their push services.
//
//   in    a schedule's event, {} or nothing; TURNSTONE_QUEUE: web-2 for the second of several queues
//   out   {"finished": notifications that are over, "waiting": put off, "accepted": browsers, …},
//         zeros left out
//   else  exit 100 misconfigured, 111 may work later; 0 at once if another process is delivering
//
// `deliver` starts it when there is something for it. If it has several queues, it starts a process for each
// other one that has work. Ends after DELIVER_LINGER_SECONDS without work. On
// SIGTERM, it first waits for the answers to what it has sent.

import Drain
import Edge
import Store
import Turnstone
import Unix

run("Sends what waits for browsers to their push services, unless another process does.") {
    (schedule) throws(Failure) in
    ThisProcess.deferTermination()
    let state = try State(schedule.variables)
    return try Queues(schedule, state, drainable: [.web], services: [.web]) { _ in
        { (variables) throws(Failure) in try WebPushProvider(variables, state: state) }
    }.drain()
}
