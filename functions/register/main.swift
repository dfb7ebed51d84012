// POST /register: registers a device for an OGS player, so that the player's turns are pushed to it.
// DELETE /register/{device_token}: removes the device from the caller's player.
//
//   in    X-API-Key, {"user_id": "1783478", "device_token": "80860575…"} and, if it differs from the
//         installation's, "environment": "development" or "production"
//   out   200 {"status": "registered"} or {"status": "unregistered"}
//   else  400 malformed, 401 unknown key, 403 another user's key, 404 not this player's device,
//         409 the player has as many devices as allowed, 503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("POST", "/register") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        var fields = try request.fields()
        let player = try fields.player("user_id")
        let token = try fields.deviceToken("device_token")
        let environment = try fields.environment()

        guard player == caller else {
            throw .refused(.forbidden, "this key belongs to another user")
        }
        try state.registry.bind(token, environment: environment, to: player, at: request.time)
        Log().registered(token, of: UserID(player))
        return .ok(["status": "registered"])
    },
    Route("DELETE", "/register/{device_token}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let token = try request.deviceToken("device_token")
        guard try state.registry.unbind(token, from: UserID(caller)) else {
            throw .refused(.notFound, "this device is not registered for this user")
        }
        return .ok(["status": "unregistered"])
    })
