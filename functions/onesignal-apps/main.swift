// GET /apps/{app_id}: the app, with the numbers of its devices. GET /apps: a list of this one app.
// Outcomes, journeys, custom events, templates and Live Activities: 400, they are not supported.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//   out   200 {"id", "name", "players", "messageable_players", "additional_data_is_root_payload"}
//   else  400 another app, or not supported, 403 missing or unknown key, 503 busy; always {"errors": ["…"]}

import Edge
import OneSignal
import Turnstone

serve(
    Route("GET", "/apps/{app_id}") { (request) throws(Failure) in
        let app = try App(inPathOf: request)
        return .ok(try AppView.shown(app, request))
    },
    Route("GET", "/apps") { (request) throws(Failure) in
        let app = try App(request)
        return .ok([try AppView.shown(app, request)])
    },
    Route("POST", "/apps") { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported("making an app", "an installation has one; see ONESIGNAL_APP_ID")
    },
    Route("PUT", "/apps/{app_id}") { (request) throws(Failure) in
        _ = try App(inPathOf: request)
        throw unsupported("changing an app", "its configuration is in turnstone.env")
    },
    refusal("GET", "/apps/{app_id}/outcomes", "outcomes"),
    refusal("GET", "/apps/{app_id}/journeys", "journeys"),
    refusal("POST", "/apps/{app_id}/journeys", "journeys"),
    refusal("GET", "/apps/{app_id}/journeys/{journey_id}", "journeys"),
    refusal("PATCH", "/apps/{app_id}/journeys/{journey_id}", "journeys"),
    refusal("DELETE", "/apps/{app_id}/journeys/{journey_id}", "journeys"),
    refusal("POST", "/apps/{app_id}/custom_events", "custom_events", "use /api/events"),
    refusal(
        "POST", "/apps/{app_id}/activities/activity/{activity_type}", "live activities",
        "use /api/push/live-activity"),
    refusal(
        "POST", "/apps/{app_id}/live_activities/{activity_id}/notifications",
        "live activities", "use /api/push/live-activity"),
    refusal("GET", "/templates", "templates", "use /api/events"),
    refusal("POST", "/templates", "templates", "use /api/events"),
    refusal("POST", "/notifications/{notification_id}/history", "history"),
    refusal("POST", "/notifications/{notification_id}/export_events", "export_events"))

/// A route of OneSignal's that answers 400.
func refusal(
    _ method: String, _ pattern: String, _ name: String, _ advice: String = ""
) -> Route {
    Route(method, pattern) { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported(name, advice)
    }
}
