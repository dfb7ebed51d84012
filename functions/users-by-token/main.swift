// GET /users-by-token/{device_token}: the OGS players who are registered on a device.
//
//   in    X-API-Key
//   out   200 {"device_token": as stored, "user_ids": ["1783478", "123456"]}; [] if the caller's player is
//         not one of them: an app asks on launch, before it registers
//   else  400 malformed, 401 unknown key, 503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("GET", "/users-by-token/{device_token}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let token = try request.deviceToken("device_token")
        let users = try state.registry.users(of: token)
        // A key shows other players only on a device that its own player shares with them.
        let shown = users.contains(UserID(caller)) ? users : []
        return .ok([
            "device_token": .string(token.text), "user_ids": .array(shown.map { .string($0.text) }),
        ])
    })
