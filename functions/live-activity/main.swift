// POST /api/push/live-activity: starts, updates and ends Live Activities.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//         {"event": "update", "activityId" or "sessionId" or "userId", "contentState": {…}, "staleDate"?,
//         "alert"?, "priority"?: 5 or 10, "relevanceScore"?, "timestamp"?}; moments in seconds since 1970
//         {"event": "end", …, "contentState"?, "dismissalDate"?}
//         {"event": "start", "userId", "attributesType", "attributes", "contentState", "alert", "channel" or
//         "inputPushToken"?}
//         "channel" instead of "activityId": to all activities that listen to it
//   out   202 {"success": true, "state": "queued"}, "held" until 15 s after the last update, or "outdated"
//   else  400 malformed, 401 missing or unknown server key, 404 no such token or channel, 409 it has ended,
//         or must end and has no state, 413 more than 4096 bytes (to a channel 5120), 422 the timestamp is
//         more than an hour ahead, 503 the store is busy

import Edge
import Queueing
import Spool
import Store
import Turnstone

serve(
    Route("POST", "/api/push/live-activity") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let call = try Call(&fields, now: request.time)
        let state = try State(request.variables)
        let spools = state.spools
        let result = try Sending(call: call, spools: spools, state: state).result()
        if result != .outdated { state.startDrainer(for: request) }
        return Response(
            status: 202, body: ["success": true, "state": .string(result.rawValue)])
    })
