// DELETE /api/push/invalidate: removes one of the caller's tokens.
//
//   in    a JSON Web Token, {"token"}, {"subscription"} or {"id"}
//   out   200 {"success": true}
//   else  400 malformed, 401 unknown caller, 403 another user's token, or by cookie from another site,
//         404 unknown token, 503 the store is busy

import Callers
import Edge
import Store
import Turnstone

serve(
    Route("DELETE", "/api/push/invalidate") { (request) throws(Failure) in
        let caller = try request.user()
        var fields = try request.fields()
        let device = try fields.knownDevice(token: "token")
        try State(request.variables, admitting: caller).registry.unregister(
            device, by: caller, at: request.time)
        return .ok(["success": true])
    })
