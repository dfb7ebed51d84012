// POST /api/notify: pushes a message to users and devices.
// GET /api/notify/{id}: what became of it, device by device.
// DELETE /api/notify/{id}: calls off what has not gone out.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>, Idempotency-Key?
//         {"users": ["ann"] and/or "devices": ["80ab…"], "title", "body", …: README.md has them all}
//   out   202 {"success": true, "id", "devices": how many, "skipped"?: how many nothing reaches,
//         "later"?: users whose documents were busy, "failed"?: users whose documents cannot be used}
//         GET, DELETE: 200 {"success": true, "id", "state", "counts", "devices": [{"id", "user", "state", …}]};
//         DELETE: 202 where a push is just under way
//   else  400 malformed or unknown member, 401 no or an unknown server key, 404 unknown id, 409 all of it has gone
//         out, 413 too large, 422 cannot be, or another request had this key, 503 the store is busy

import Edge
import Messages
import Spool
import Store
import Turnstone

serve(
    bodyLimit: 1 << 20,
    Route("POST", "/api/notify") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let key = try IdempotencyKey(request, &fields)
        let audience = try Audience(&fields)
        let message = try Message(&fields, kind: "message", now: request.time)
        try fields.finish()
        let state = try State(request.variables)
        let sent = try Outbox(state, now: request.time).send(message, to: audience, once: key)
        if sent.devices > 0 {
            Spool(state: state.folder).startDrainer(request.variables) { Log().failure($0) }
        }
        return sent.response
    },
    Route("GET", "/api/notify/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let state = try State(request.variables)
        return .ok(try Report(of: request[parameter: "id"], state, at: request.time).json)
    },
    Route("DELETE", "/api/notify/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let state = try State(request.variables)
        let report = try Report.callingOff(request[parameter: "id"], state, at: request.time)
        Spool(state: state.folder).startDrainer(request.variables) { Log().failure($0) }
        guard report.state != .done else {
            throw .refused(.conflict, "it has gone out already")
        }
        return Response(status: report.isOpen ? 202 : 200, body: report.json)
    })
