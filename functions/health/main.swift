// GET /health: whether this installation can do its work.
//
//   in    nothing; anyone may ask
//   out   200 {"status": "ok"}
//   else  500 or 503 when the state folder or the configuration cannot be used,
//         503 {"status": "stopped", "reason", "since"} when a push service refuses our credentials

import Edge
import Store
import Turnstone

serve(
    Route("GET", "/health") { (request) throws(Failure) in
        let state = try State(request.variables)
        guard let stop = try state.deliveryStop() else { return .ok(["status": "ok"]) }
        return Response(
            status: 503,
            body: [
                "status": "stopped", "reason": .string(stop.reason),
                "since": .string(CalendarDate(stop.since).text),
            ])
    })
