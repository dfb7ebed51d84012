// GET /api/status: how this installation does: what is wrong, the last cycles, queues, pushes, devices.
// GET /api/status/{user}: why a user gets pushes, or none.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//         {user}: limit?, how many events (1 to 500; 100 otherwise), and after?, the next of an earlier
//         answer
//   out   200 {"success": true, "at", "ready", "problems", "cycles"?, "queues"?, "pushes"?, "devices"?,
//         "unavailable"?: parts that cannot be read now}
//         {user}: 200 {"success": true, "user", "at", "reasons": [{"reason", "message", "action"?}],
//         "devices", "preferences", "look"?, "turns", "waiting", "events", "next", "stopped"}; with
//         "problems" and "unavailable" if parts cannot be read
//   else  400 malformed, 401 missing or unknown server key, 404 nothing is known about the user
//
// Neither answer has a token or a key in it.

import Edge
import Turnstone

serve(
    Route("GET", "/api/status") { (request) throws(Failure) in
        try request.requireServerKey()
        return .ok(.object(try Overview(request).answer()))
    },
    Route("GET", "/api/status/{user}") { (request) throws(Failure) in
        try request.requireServerKey()
        guard let user = UserID(request[parameter: "user"]) else {
            throw .malformed(UserID.rule)
        }
        return .ok(.object(try Timeline.answer(about: user, request)))
    })
