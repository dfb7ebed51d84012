// Made by infra/inetd/make-routes: change infra/routes instead.

import Edge

let routes = [
    ProgramRoute("GET", "/health", "health"),
    ProgramRoute("POST", "/generate-api-key", "generate-api-key"),
    ProgramRoute("POST", "/rotate-api-key", "rotate-api-key"),
    ProgramRoute("GET", "/api-keys", "api-keys"),
    ProgramRoute("DELETE", "/api-keys/{id}", "api-keys"),
    ProgramRoute("POST", "/register", "register"),
    ProgramRoute("DELETE", "/register/{device_token}", "register"),
    ProgramRoute("GET", "/check/{user_id}", "check"),
    ProgramRoute("GET", "/diagnostics/{user_id}", "diagnostics"),
    ProgramRoute("GET", "/users-by-token/{device_token}", "users-by-token"),
    ProgramRoute("POST", "/api/devices/register", "devices-register"),
    ProgramRoute("GET", "/api/devices", "devices-list"),
    ProgramRoute("DELETE", "/api/devices/{device_token}", "devices-unregister"),
    ProgramRoute("POST", "/api/push/register", "push-register"),
    ProgramRoute("DELETE", "/api/push/invalidate", "push-invalidate"),
    ProgramRoute("GET", "/api/push/status", "push-status"),
    ProgramRoute("POST", "/api/push/live-activity", "live-activity"),
    ProgramRoute("POST", "/api/notify", "notify"),
    ProgramRoute("GET", "/api/notify/{id}", "notify"),
    ProgramRoute("DELETE", "/api/notify/{id}", "notify"),
    ProgramRoute("POST", "/api/events", "events"),
    ProgramRoute("GET", "/api/events", "events"),
    ProgramRoute("GET", "/api/preferences", "preferences"),
    ProgramRoute("PUT", "/api/preferences", "preferences"),
    ProgramRoute("GET", "/api/badge", "badge"),
    ProgramRoute("PUT", "/api/badge", "badge"),
]
