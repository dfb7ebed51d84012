// POST /api/events: pushes the message that a template makes from an event.
// GET /api/events: lists the events with a template, and the problems in templates.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>, Idempotency-Key?
//         {"event": "task_assignment", "values": {…}, "users": ["ann"] and/or "devices": ["80ab…"],
//         or "segments", "filters" or "everyone"; "send_after"?, "expiration"? or "expires_in"?}
//   out   202 {"success": true, "id", "devices": how many, "skipped"?}; `notify` reports on the id
//         GET: 200 {"success": true, "events": [{"event", "kind", "required", "optional"}], "problems": […]}
//   else  400 malformed, or a value is missing or unknown; 401 missing or unknown server key; 413 too large;
//         422 missing or damaged template, or the key was used with a different request; 503 store busy

import Edge
import Messages
import Queueing
import Store
import Turnstone

serve(
    bodyLimit: BodyLimit.message,
    Route("POST", "/api/events") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let key = try IdempotencyKey(request, &fields)
        return try request.send(once: key) { () throws(Failure) in
            let event = try fields.requiredText("event")
            let template = try Templates(request.variables).template(of: event)
            let audience = try Audience(
                &fields, reaching: PushServiceSet(reachableWith: request.variables))
            let message = try message(template, &fields, now: request.time)
            try fields.finish()
            return (message, audience)
        }
    },
    Route("GET", "/api/events") { (request) throws(Failure) in
        try request.requireServerKey()
        return .ok(try Templates(request.variables).list(now: request.time))
    })

/// Makes the template's message, with the times that the request states.
func message(
    _ template: Template, _ fields: inout Fields, now: Timestamp
) throws(Failure) -> Message {
    var members = try template.filled(with: fields.object("values") ?? [:])
    members["send_after"] = fields.take("send_after")
    if let throttle = fields.take("throttle_per_minute") {
        members["throttle_per_minute"] = throttle
    }
    let delay = ["delayed_option", "delivery_time_of_day"].map { ($0, fields.take($0)) }
    if delay.contains(where: { $0.1 != nil }) {
        for (name, value) in delay { members[name] = value }
    }
    let limits = ["expiration", "expires_in"].map { ($0, fields.take($0)) }
    if limits.contains(where: { $0.1 != nil }) {
        for (name, value) in limits { members[name] = value }
    }
    var filled = Fields(members)
    let message = try Message(&filled, kind: template.kind, now: now)
    try filled.finish()
    return message
}
