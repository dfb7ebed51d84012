// GET /users-by-token/{device_token}: the OGS players who are registered on a device.
//
//   in    X-API-Key; the path has the device's token, or the id of a device of the caller's player
//   out   200 {"device_token": as stored, "user_ids": ["1783478", "123456"]}; [] if the caller's player is
//         not one of them: an app asks on launch, before it registers
//   else  400 malformed, 401 unknown key, 503 the store is busy

import Documents
import Edge
import Store
import Turnstone

serve(
    Route("GET", "/users-by-token/{device_token}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = UserID(try state.keys.owner(of: request.apiKey(), at: request.time))
        let name = try request.deviceName("device_token")
        let found = try device(named: name, of: caller, state)
        // A key shows other players only on a device that its own player shares with them.
        let shown = found.users.contains(caller) ? found.users : []
        return .ok([
            "device_token": .string(found.name),
            "user_ids": .array(shown.map { .string($0.text) }),
        ])
    })

/// The users of a device, and its name as the answer shows it: its token as it is stored, or its id.
func device(
    named name: String, of caller: UserID, _ state: State
) throws(Failure) -> (name: String, users: [UserID]) {
    var stored = name
    for token in DeviceToken.all(named: name) {
        let users = try state.registry.users(of: token)
        guard users.isEmpty else { return (token.text, users) }
        stored = token.text
    }
    guard let own = try state.users[caller].read()?.device(named: name) else { return (stored, []) }
    return (own.id, try state.registry.users(of: own.token))
}
