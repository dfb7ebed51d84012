// GET /api/users/{id}: what is known about a user.
// PATCH /api/users/{id}: changes the profile, as `PATCH /api/profile` does.
// DELETE /api/users/{id}: erases the user everywhere.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//   out   200 {"success": true, "user": {"id", "devices": [{"id", "platform", …}], "preferences", "profile",
//         "badge", "apiKeys"}}, ETag (of the profile)
//         PATCH: the same
//         DELETE: 200 {"success": true, "erased": {"devices", "apiKeys", "pushes", "receipts", "files",
//         "unreadable"?}}
//   else  400 not a user's id, 401 missing or unknown server key, 404 nothing is known about the user, 409
//         another user has the alias, 412 changed since If-Match, 422 a value is not allowed, 503 the store
//         or the drainer is busy: repeat the DELETE to erase what is left

import Documents
import Edge
import Erasing
import Profiles
import Store
import Turnstone

serve(
    Route("GET", "/api/users/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let user = try user(request)
        let state = try State(request.variables)
        guard let document = try state.users[user].read() else { throw unknown }
        return answer(user, document, in: state)
    },
    Route("PATCH", "/api/users/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let user = try user(request)
        let change = try ProfileChange(request.fields())
        let state = try State(request.variables)
        return answer(user, try state.change(user, by: change, as: request), in: state)
    },
    Route("DELETE", "/api/users/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let user = try user(request)
        let state = try State(request.variables)
        guard let erased = try eraseUser(user, in: state, as: request) else { throw unknown }
        return .ok(["success": true, "erased": erased])
    })

func answer(_ user: UserID, _ document: User, in state: State) -> Response {
    let description = description(of: user, document, in: state)
    var response = Response.ok(["success": true, "user": description])
    response.setEntityTag(document.profileVersion)
    return response
}

func user(_ request: Request) throws(Failure) -> UserID {
    guard let user = UserID(request[parameter: "id"]) else {
        throw .malformed(UserID.rule)
    }
    return user
}
