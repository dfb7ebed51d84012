// deliver: sends the accepted notifications in the queues to the push services.
//
//   in    a schedule's event, {} or nothing; TURNSTONE_QUEUE: apns, fcm or web for that service's
//         queues alone, apns-2 for the second of several
//   out   {"finished": notifications that are over, "waiting": put off, "accepted": devices, …},
//         zeros left out; without APNs settings, each push to an iPhone before that, a line each
//   else  exit 100 misconfigured, 111 may work later; 0 at once if other processes are delivering
//
// It drains the (first) queue of APNs, and starts a process for each other queue that has work. Each ends
// after DELIVER_LINGER_SECONDS without work. On SIGTERM, they first wait for the answers to what they have
// sent.

import Drain
import Edge
import PushServices
import Store
import Turnstone
import Unix

run("Sends what is in the queues to the push services, unless other processes do.") {
    (schedule) throws(Failure) in
    ThisProcess.deferTermination()
    let state = try State(schedule.variables)
    return try Queues(schedule, state, drainable: [.apns, .fcm]) { service in
        { (variables) throws(Failure) in
            if service == .fcm { return try FCMProvider(variables, state: state) }
            guard let settings = try APNsSettings(variables) else {
                return FileProvider(state: state)
            }
            return try APNsProvider(settings, variables, state: state)
        }
    }.drain()
}
