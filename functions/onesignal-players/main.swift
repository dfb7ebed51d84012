// POST, GET /players: registers a device as OneSignal's older client does, and lists the devices.
// GET, PUT /players/{player_id}: shows or changes one. POST …/on_session: counts a session.
// DELETE /players/{player_id}, POST …/on_purchase, POST /players/csv_export: 400, they are not supported.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//         {"app_id", "device_type": 0 (iOS), 1 (Android), 5, 8 or 17 (a browser), "identifier": the token,
//         "external_user_id"?, "tags"?, "language"?, "notification_types"?, …}
//   out   200 {"success": true, "id"}; GET a device, or {"total_count", "offset", "limit", "players"}
//   else  400 malformed, unknown or unsupported member, 403 missing or unknown key, 404 unknown device, 503
//         busy; always {"errors": ["…"]}

import Edge
import OneSignal
import Turnstone

serve(
    Route("POST", "/players") { (request) throws(Failure) in
        let app = try App(request)
        return try Players(request).make(in: app)
    },
    Route("GET", "/players") { (request) throws(Failure) in
        let app = try App(inQueryOf: request)
        return try Players(request).list(in: app)
    },
    Route("GET", "/players/{player_id}") { (request) throws(Failure) in
        _ = try App(inQueryOf: request)
        return try Players(request).view(request[parameter: "player_id"])
    },
    Route("PUT", "/players/{player_id}") { (request) throws(Failure) in
        let app = try App(request)
        return try Players(request).update(request[parameter: "player_id"], in: app)
    },
    Route("DELETE", "/players/{player_id}") { (request) throws(Failure) in
        _ = try App(inQueryOf: request)
        throw unsupported(
            "deleting a player", "use DELETE /apps/{app_id}/subscriptions/{subscription_id}")
    },
    Route("POST", "/players/{player_id}/on_session") { (request) throws(Failure) in
        let app = try App(request)
        return try Players(request).beginSession(request[parameter: "player_id"], in: app)
    },
    Route("POST", "/players/{player_id}/on_purchase") { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported("on_purchase", "purchases are not known here")
    },
    Route("POST", "/players/csv_export") { (request) throws(Failure) in
        _ = try App(request)
        throw unsupported("csv_export", "GET /players lists the devices")
    })
