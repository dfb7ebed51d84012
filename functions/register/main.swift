// POST /register: registers a device for an OGS player, so that the player's turns are pushed to it.
// DELETE /register/{device_token}: removes the device from the caller's player.
//
//   in    X-API-Key, {"user_id": "1783478", "device_token": "80860575…"} and, if it is not "ios", "platform":
//         "android", or "web" with "subscription" instead of the token; for iOS, if it differs from the
//         installation's, "environment": "development" or "production"; "device_name"?: what the player
//         calls it
//         DELETE: the path has the token or the id
//   out   200 {"status": "registered", "id"} or {"status": "unregistered"}
//   else  400 malformed, 401 unknown key, 403 another user's key, 404 not this player's device,
//         409 the player has as many devices as allowed, 422 an unknown push service, 429 too many requests or
//         new devices, 503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("POST", "/register") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        var fields = try request.fields()
        let player = try fields.player("user_id")
        let registration = try registration(&fields, request.variables)

        guard player == caller else {
            throw .refused(.forbidden, "this key belongs to another user")
        }
        try state.admit(registration, by: UserID(player), at: request.time)
        let device = try state.registry.bind(registration, to: player, at: request.time)
        Log().registered(registration.token, of: UserID(player))
        return .ok(["status": "registered", "id": .string(device.id)])
    },
    Route("DELETE", "/register/{device_token}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let device = try request.deviceName("device_token")
        let isRemoved = try state.registry.unbind(
            named: device, from: UserID(caller), at: request.time)
        guard isRemoved else {
            throw .refused(.notFound, "this device is not registered for this user")
        }
        return .ok(["status": "unregistered"])
    })

func registration(
    _ fields: inout Fields, _ variables: Variables
) throws(Failure) -> Registration {
    let platform = try fields.platform() ?? .ios
    var registration = Registration(
        try fields.newDevice(
            on: platform, token: "device_token", variables))
    registration.platform = platform
    registration.name = try fields.optionalText("device_name", atMost: 200)
    registration.environment = try fields.environment(on: platform)
    return registration
}
