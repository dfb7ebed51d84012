// POST /notifications: pushes a notification, as OneSignal's clients ask for it.
// POST /notifications/count-unsaved: estimates whom it would reach.
// GET /notifications, GET /notifications/{notification_id}: the notifications, and one of them.
// DELETE /notifications/{notification_id}: cancels what has not been sent.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//         {"app_id", "include_aliases" or another target, "contents": {"en": "…"}, …: README.md has them all}
//   out   200 {"id", "errors"?: {"invalid_aliases": …}}; for nobody {"id": "", "errors": ["…"]};
//         Idempotent-Replayed: true for a repeated request
//         count: {"count"}; GET: {"id", "successful", "failed", …} or a page of them; DELETE: {"success"}
//   else  400 malformed or unsupported member, 403 missing or unknown key, 404 unknown id, 413 too large,
//         503 busy; always {"errors": ["…"]}

import Edge
import OneSignal
import Store
import Turnstone

serve(
    bodyLimit: BodyLimit.message,
    Route("POST", "/notifications") { (request) throws(Failure) in
        let app = try App(request)
        return try NotificationRequest(request, for: app).send(request)
    },
    Route("POST", "/notifications/count-unsaved") { (request) throws(Failure) in
        let app = try App(request)
        return try CountRequest(request, for: app).answer(request)
    },
    Route("GET", "/notifications") { (request) throws(Failure) in
        let app = try App(inQueryOf: request)
        return try NotificationView.page(request, of: app, State(request.variables))
    },
    Route("GET", "/notifications/{notification_id}") { (request) throws(Failure) in
        let app = try App(inQueryOf: request)
        return .ok(
            try NotificationView.shown(
                request[parameter: "notification_id"], of: app, State(request.variables),
                at: request.time))
    },
    Route("DELETE", "/notifications/{notification_id}") { (request) throws(Failure) in
        _ = try App(inQueryOf: request)
        return try NotificationView.cancel(request[parameter: "notification_id"], request)
    })
