// GET /health: whether this installation can do its work.
//
//   in    nothing; anyone may ask
//   out   200 {"status": "ok"}
//   else  500 or 503 when the state folder or the configuration cannot be used,
//         503 {"status": "not ready", "problems": [{"problem", …}]} with what stands in the way

import Edge
import Spool
import Store
import Turnstone

serve(
    Route("GET", "/health") { (request) throws(Failure) in
        let state = try State(request.variables)
        let problems = try problems(of: state, at: request.time)
        if problems.isEmpty { return .ok(["status": "ok"]) }
        return Response(
            status: 503, body: ["status": "not ready", "problems": .array(problems)])
    })
