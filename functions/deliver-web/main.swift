// deliver-web: sends the accepted notifications for browsers to their push services.
//
//   in    a schedule's event, {} or nothing
//   out   {"finished": notifications that are over, "waiting": put off, "accepted": browsers, …},
//         zeros left out
//   else  exit 100 misconfigured, 111 may work later; 0 at once if another process is delivering
//
// `deliver` starts it when there is something for it. Ends after DELIVER_LINGER_SECONDS without work. On
// SIGTERM, it first waits for the answers to what it has sent.

import Drain
import Edge
import Spool
import Store
import Turnstone
import Unix

run("Sends what waits for browsers to their push services, unless another process does.") {
    (schedule) throws(Failure) in
    ThisProcess.deferTermination()
    let state = try State(schedule.variables)
    // A timer starts it also where nobody uses a browser.
    if !state.services.contains(.web),
        try !Spools(state: state.folder).hasWork(
            for: .web, at: schedule.now, report: { schedule.log.failure($0) })
    {
        return [:]
    }
    return try Drainer(of: .web, schedule, state: state) { (variables) throws(Failure) in
        try WebPushProvider(variables, state: state)
    }.drain()
}
