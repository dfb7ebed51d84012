// GET /api/preferences: which notifications the caller wants, and when.
// PUT /api/preferences: replaces the preferences.
//
//   in    a JSON Web Token, or X-API-Key
//         PUT {"kinds"?: {"turn": false}, "mutedUntil"?: "2026-11-22T07:00:00Z",
//         "quietHours"?: {"from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin"}}, If-Match?
//   out   200 {"success": true, "preferences": {"kinds", "mutedUntil", "quietHours"}}, ETag
//   else  400 malformed or unknown member, 401 unknown caller, 403 a page of another site, 412 changed
//         since If-Match, 422 no such time zone or time, 503 busy

import Callers
import Documents
import Edge
import Queueing
import Spool
import Store
import Turnstone

serve(
    Route("GET", "/api/preferences") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        return answer(try state.users[user].read()?.preferences ?? Preferences())
    },
    Route("PUT", "/api/preferences") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        var fields = try request.fields()
        let wanted = try Preferences(&fields)
        let spools = state.spools
        var ids = [user]
        let preferences = try state.users[user].update {
            (document) throws(Failure) in
            ids = document.ids(of: user)
            try request.checkMatch(
                "\(document.preferences.revision)",
                else: "the preferences have changed since; read them again")
            var changed = wanted
            changed.revision = document.preferences.revision
            if changed != document.preferences {
                changed.revision = request.time.revision(after: changed.revision)
                document.preferences = changed
                // If the program is killed once the change is durable, the held messages are still looked at.
                _ = try spools.lookAgain(at: ids, now: request.time)
            }
            return changed
        }
        // Held messages may now go earlier or later. Asked again, because a drainer may have looked before
        // the change, and even if nothing changed, because an earlier request with the same change may have
        // failed half-way.
        if try spools.lookAgain(at: ids, now: request.time) {
            state.startDrainer(for: request)
        }
        return answer(preferences)
    })

func answer(_ preferences: Preferences) -> Response {
    var response = Response.ok(["success": true, "preferences": preferences.listing])
    response.setEntityTag("\(preferences.revision)")
    return response
}
