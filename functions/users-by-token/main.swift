// GET /users-by-token/{device_token}: the OGS players whose turns are pushed to a device.
//
//   in    X-API-Key
//   out   200 {"device_token": as stored, "user_ids": ["1783478", "123456"]}; [] when there is none
//   else  400 malformed, 401 unknown key, 403 the device belongs to other players only,
//         503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("GET", "/users-by-token/{device_token}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let token = try request.deviceToken("device_token")
        let users = try state.registry.users(of: token)
        guard users.isEmpty || users.contains(UserID(caller)) else {
            throw .refused(.forbidden, "this device belongs to other users")
        }
        return .ok([
            "device_token": .string(token.hex), "user_ids": .array(users.map { .string($0.text) }),
        ])
    })
