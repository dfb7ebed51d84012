// GET /api/profile: what is known of the caller, by which the backend chooses the recipients of messages.
// PATCH /api/profile: changes the members that the request names; null removes.
//
//   in    a JSON Web Token, or a player's API key
//         PATCH {"aliases"?: {LABEL: ID}, "tags"?: {NAME: text or number}, "language"?, "timeZone"?,
//         "country"?, "firstSession"?, "lastSession"?, "sessionCount"?, "session"?: true, "devices"?: {ID:
//         {"appVersion"?, "model"?, "os"?, "enabled"?}}}, If-Match?
//   out   200 {"success": true, "profile": {"aliases", "tags", …, "devices": […]}}, ETag
//   else  400 malformed or unknown member, 401 unknown caller, 403 a page of another site, or more than
//         language and timeZone by an API key, 409 another user has the alias, 412 changed since If-Match,
//         422 a value is not allowed, 429 too many requests, 503 busy

import Callers
import Documents
import Edge
import Profiles
import Store
import Turnstone

serve(
    Route("GET", "/api/profile") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        return answer(try state.users[user].read() ?? User())
    },
    Route("PATCH", "/api/profile") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        let fields = try request.fields()
        if request.headers["x-api-key"] != nil { try refuseAddressing(fields) }
        return answer(try state.change(user, by: ProfileChange(fields), as: request))
    })

/// Refuses a player what decides whom the backend's messages reach, such as aliases: strangers may have keys.
func refuseAddressing(_ fields: Fields) throws(Failure) {
    for member in fields.rest.members where !["language", "timeZone"].contains(member.name) {
        throw .refused(
            .forbidden,
            "with an API key only language and timeZone can be changed, not \(member.name)")
    }
}

func answer(_ document: User) -> Response {
    var profile = document.profile.listing.object ?? [:]
    profile["devices"] = .array(document.profileDevices)
    var response = Response.ok(["success": true, "profile": .object(profile)])
    response.setEntityTag(document.profileVersion)
    return response
}
