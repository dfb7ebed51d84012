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
    Route("GET", "/apps/{app_id}/journeys", refusal("journeys")),
    Route("POST", "/apps/{app_id}/journeys", refusal("journeys")),
    Route("GET", "/apps/{app_id}/journeys/{journey_id}", refusal("journeys")),
    Route("PATCH", "/apps/{app_id}/journeys/{journey_id}", refusal("journeys")),
    Route("DELETE", "/apps/{app_id}/journeys/{journey_id}", refusal("journeys")),
    Route("POST", "/apps/{app_id}/custom_events", refusal("custom_events", "use /api/events")),
    Route(
        "POST", "/apps/{app_id}/activities/activity/{activity_type}",
        refusal("live activities", "use /api/push/live-activity")),
    Route(
        "POST", "/apps/{app_id}/live_activities/{activity_id}/notifications",
        refusal("live activities", "use /api/push/live-activity")),
    Route("GET", "/templates", refusal("templates", "use /api/events")),
    Route("POST", "/templates", refusal("templates", "use /api/events")),
    Route("POST", "/apps/{app_id}/journeys/{journey_id}/duplicate", refusal("journeys")),
    Route("GET", "/apps/{app_id}/journeys/{journey_id}/stats", refusal("journeys")),
    Route("PATCH", "/apps/{app_id}/journeys/{journey_id}/nodes/{node_id}", refusal("journeys")),
    Route("GET", "/templates/{template_id}", refusal("templates", "use /api/events")),
    Route("PATCH", "/templates/{template_id}", refusal("templates", "use /api/events")),
    Route("DELETE", "/templates/{template_id}", refusal("templates", "use /api/events")),
    Route("POST", "/templates/{template_id}/copy_to_app", refusal("templates", "use /api/events")),
    Route(
        "GET", "/apps/{app_id}/auth/tokens",
        refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")),
    Route(
        "POST", "/apps/{app_id}/auth/tokens",
        refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")),
    Route(
        "PATCH", "/apps/{app_id}/auth/tokens/{token_id}",
        refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")),
    Route(
        "DELETE", "/apps/{app_id}/auth/tokens/{token_id}",
        refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")),
    Route(
        "POST", "/apps/{app_id}/auth/tokens/{token_id}/rotate",
        refusal("API keys of an app", "use TURNSTONE_SERVER_KEY")),
    Route("POST", "/apps/{app_id}/notifications/{notification_id}/unsubscribe", refusal("e-mail")),
    Route("GET", "/apps/{app_id}/email_analytics/delivery_metrics", refusal("e-mail")),
    Route("GET", "/apps/{app_id}/email_analytics/provider_metrics", refusal("e-mail")),
    Route("GET", "/apps/{app_id}/email_analytics/provider_metrics_timeseries", refusal("e-mail")),
    Route(
        "POST", "/apps/{app_id}/live_activities/{activity_id}/token",
        refusal("live activities", "use /api/push/register")),
    Route("GET", "/organizations/{organization_id}/audit_logs", refusal("audit logs")),
    Route("POST", "/notifications/{notification_id}/history", refusal("history")),
    Route("POST", "/notifications/{notification_id}/export_events", refusal("export_events")))

/// Answers 400.
func refusal(
    _ name: String, _ advice: String = ""
) -> (Request) throws(Failure) -> Response {
    { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported(name, advice)
    }
}
