// GET /health: whether this installation can do its work.
//
//   in    nothing: anyone may ask; with Authorization: Key <TURNSTONE_SERVER_KEY>, or as an event at a shell,
//         also the reasons
//   out   200 {"status": "ok"}
//   else  503 {"status": "not ready"}, with reasons {"status", "problems": [{"problem", "message", "action",
//         …}]}; 401 wrong server key

import Edge
import Health
import Store
import Turnstone

serve(
    Route("GET", "/health") { (request) throws(Failure) in
        let mayKnow = try request.hasServerKey() || request.isByHand
        let problems: [Problem]
        do throws(Failure) {
            problems = Examination(try State(request.variables), request).problems()
        } catch {
            Log().failure(error)
            return notReady(
                [Problem(stateFault: error, of: request.variables.stateFolder)], mayKnow)
        }
        return problems.isEmpty ? .ok(["status": "ok"]) : notReady(problems, mayKnow)
    }.failing { failure, variables, isByHand in
        let problem =
            if let variables {
                Problem(stateFault: failure, of: variables.stateFolder)
            } else {
                Problem(configurationFault: failure)
            }
        return notReady([problem], isByHand)
    })

private func notReady(_ problems: [Problem], _ mayKnow: Bool) -> Response {
    var body: JSONObject = ["status": "not ready"]
    if mayKnow { body["problems"] = .array(problems.map { .object($0.members) }) }
    return Response(status: 503, body: .object(body))
}
