// POST /api/notify: pushes a message to users and devices.
// POST /api/notify/count: estimates whom a message would reach.
// GET /api/notify/{id}: reports on the message, device by device.
// DELETE /api/notify/{id}: cancels deliveries that have not been sent.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>, Idempotency-Key?
//         {"users": ["ann"] and/or "devices": ["80ab…"], or "segments", "filters" or "everyone"; "title",
//         "body", …: README.md has them all}
//   out   202 {"success": true, "id", "devices": how many, "skipped"?: how many cannot be reached,
//         "later"?: users whose documents were busy, "failed"?: users whose documents cannot be used}
//         count: 200 {"success": true, "users": how many, "devices", "skipped"}
//         GET, DELETE: 200 {"success", "id", "state", "counts", "devices": [{"id", "user", "state", …}]};
//         DELETE: 202 if a push is being sent at this moment
//   else  400 malformed or unknown member, 401 missing or unknown server key, 404 unknown id, 409 the message
//         has already been sent, 413 too large, 422 a value is not allowed, or the key was used with a
//         different request, 503 the store is busy

import Edge
import Messages
import Queueing
import Store
import Turnstone

serve(
    bodyLimit: BodyLimit.message,
    Route("POST", "/api/notify") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let key = try IdempotencyKey(request, &fields)
        return try request.send(once: key) { () throws(Failure) in
            let audience = try Audience(
                &fields, reaching: PushServiceSet(reachableWith: request.variables))
            let message = try Message(&fields, kind: "message", now: request.time)
            try fields.finish()
            return (message, audience)
        }
    },
    Route("POST", "/api/notify/count") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let audience = try Audience(
            &fields, reaching: PushServiceSet(reachableWith: request.variables))
        try fields.finish()
        let state = try State(request.variables)
        let count = try Outbox(state, now: request.time).count(audience)
        return .ok([
            "success": true, "users": .integer(Int64(count.users)),
            "devices": .integer(Int64(count.devices)), "skipped": .integer(Int64(count.skipped)),
        ])
    },
    Route("GET", "/api/notify/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let state = try State(request.variables)
        return .ok(try Report(of: request[parameter: "id"], state, at: request.time).json)
    },
    Route("DELETE", "/api/notify/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let state = try State(request.variables)
        let report = try Report.cancelling(request[parameter: "id"], state, for: request)
        guard !report.isSent else {
            throw .refused(.conflict, "the message has already been sent")
        }
        return Response(status: report.mayBeSent ? 202 : 200, body: report.json)
    })
