// GET /api/badge: returns a user's badge, the number on the app's icon.
// PUT /api/badge: sets or changes it, and sends it to the user's other devices with a silent push.
//
//   in    a JSON Web Token, or Authorization: Key <TURNSTONE_SERVER_KEY> and the user: GET ?userId=ann,
//         PUT "userId"
//         PUT {"badge": 5, "+1" or "-1", "deviceToken"?: the token or id of the device that shows it already}
//   out   200 {"success": true, "badge": 6}
//   else  400 malformed, 401 unknown caller, 403 a page of another site, 422 not a badge, 503 busy

import Callers
import Documents
import Edge
import Messages
import Queueing
import Store
import Turnstone

serve(
    Route("GET", "/api/badge") { (request) throws(Failure) in
        let user = try user(request, named: request.query("userId"))
        let state = try state(request, for: user)
        return answer(try state.users[user].read()?.badge ?? 0)
    },
    Route("PUT", "/api/badge") { (request) throws(Failure) in
        var fields = try request.fields()
        let user = try user(request, named: fields.optionalText("userId"))
        guard let change = try fields.badgeChange() else { throw .malformed("badge is required") }
        let state = try state(request, for: user)
        let device = try fields.optionalText("deviceToken")
        let badge = try state.users[user].update { (document) throws(Failure) in
            let before = document.badge
            document.changeBadge(change)
            let badge = document.badge
            guard badge != before else { return badge }
            let outbox = Outbox(state, now: request.time)
            let except = device.flatMap { document.device(named: $0) }
            try outbox.sendBadge(of: &document, to: user, except: except?.token)
            return badge
        }
        state.startDrainer(for: request)
        return answer(badge)
    })

func answer(_ badge: Int64) -> Response { .ok(["success": true, "badge": .integer(badge)]) }

func state(_ request: Request, for user: UserID) throws(Failure) -> State {
    let isBackend = try request.usesServerKeyScheme()
    return try isBackend
        ? State(request.variables) : State(request.variables, admitting: user)
}

/// The calling user, or the user that the app's own backend names.
func user(_ request: Request, named name: String?) throws(Failure) -> UserID {
    let isBackend = try request.usesServerKeyScheme()
    if isBackend { try request.requireServerKey() }
    let caller = isBackend ? nil : try request.user()
    let named = name.flatMap { UserID($0) }
    guard name == nil || named != nil else {
        throw .malformed("userId must be a user's id: \(UserID.form)")
    }
    guard let user = caller ?? named else { throw .malformed("userId is required") }
    return user
}
