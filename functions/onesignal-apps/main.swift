// GET /apps/{app_id}: the app, with the numbers of its devices. GET /apps: a list of this one app.
// Outcomes, journeys, custom events, templates, e-mail, API keys, audit logs and Live Activities: 400, they are
// not supported.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//   out   200 {"id", "name", "players", "messageable_players", "additional_data_is_root_payload"}
//   else  400 another app, or not supported, 403 missing or unknown key, 503 busy; always {"errors": ["…"]}

import Edge
import OneSignal
import Turnstone

let templates = refusal("templates", "use /api/events")
let apiKeys = refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")
let journeys = refusal("journeys")
let email = refusal("e-mail")
let customEvents = refusal("custom_events", "use /api/events")
let liveActivities = refusal("live activities", "use /api/push/live-activity")

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
    Route("GET", "/apps/{app_id}/outcomes", refusal("outcomes")),
    Route("GET", "/apps/{app_id}/journeys", journeys),
    Route("POST", "/apps/{app_id}/journeys", journeys),
    Route("GET", "/apps/{app_id}/journeys/{journey_id}", journeys),
    Route("PATCH", "/apps/{app_id}/journeys/{journey_id}", journeys),
    Route("DELETE", "/apps/{app_id}/journeys/{journey_id}", journeys),
    Route("POST", "/apps/{app_id}/custom_events", customEvents),
    Route("POST", "/apps/{app_id}/integrations/custom_events", customEvents),
    Route("POST", "/apps/{app_id}/activities/activity/{activity_type}", liveActivities),
    Route("POST", "/apps/{app_id}/live_activities/{activity_id}/notifications", liveActivities),
    Route("GET", "/templates", templates),
    Route("POST", "/templates", templates),
    Route("POST", "/apps/{app_id}/journeys/{journey_id}/duplicate", journeys),
    Route("GET", "/apps/{app_id}/journeys/{journey_id}/stats", journeys),
    Route("PATCH", "/apps/{app_id}/journeys/{journey_id}/nodes/{node_id}", journeys),
    Route("GET", "/templates/{template_id}", templates),
    Route("PATCH", "/templates/{template_id}", templates),
    Route("DELETE", "/templates/{template_id}", templates),
    Route("POST", "/templates/{template_id}/copy_to_app", templates),
    Route("GET", "/apps/{app_id}/auth/tokens", apiKeys),
    Route("POST", "/apps/{app_id}/auth/tokens", apiKeys),
    Route("PATCH", "/apps/{app_id}/auth/tokens/{token_id}", apiKeys),
    Route("DELETE", "/apps/{app_id}/auth/tokens/{token_id}", apiKeys),
    Route("POST", "/apps/{app_id}/auth/tokens/{token_id}/rotate", apiKeys),
    Route("POST", "/apps/{app_id}/notifications/{notification_id}/unsubscribe", email),
    Route("GET", "/apps/{app_id}/email_analytics/delivery_metrics", email),
    Route("GET", "/apps/{app_id}/email_analytics/provider_metrics", email),
    Route("GET", "/apps/{app_id}/email_analytics/provider_metrics_timeseries", email),
    Route(
        "POST", "/apps/{app_id}/live_activities/{activity_id}/token",
        refusal("live activities", "use /api/push/register")),
    Route(
        "DELETE", "/apps/{app_id}/live_activities/{activity_id}/token/{subscription_id}",
        refusal("live activities", "use /api/push/invalidate")),
    Route("GET", "/organizations/{organization_id}/audit_logs", refusal("audit logs")),
    Route("POST", "/notifications/{notification_id}/history", refusal("history")),
    Route("POST", "/notifications/{notification_id}/export_events", refusal("export_events")))

/// Answers 400.
func refusal(
    _ name: String, _ advice: String = ""
) -> @Sendable (Request) throws(Failure) -> Response {
    { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported(name, advice)
    }
}
