// POST /api/devices/register: registers a device for the caller alone.
//
//   in    a JSON Web Token, {"deviceToken", "platform": "ios" or "android", "deviceName"?, "appVersion"?,
//         "model"?, "os"?, "profile"?: as for PATCH /api/profile}; with "platform": "web", "subscription"
//         instead of the token
//   out   200 {"success": true, "message",
//         "data": {"id", "platform", "deviceName", "createdAt", "updatedAt"}}
//   else  400 malformed, 401 unknown caller, 403 by cookie from another site, 409 the user has
//         as many devices as allowed, or another user has an alias of the profile, 422 an unknown push service
//         or a wrong value in the profile, 429 too many requests or new devices, 503 the store is busy

import Callers
import Edge
import Profiles
import Store
import Turnstone

serve(
    Route("POST", "/api/devices/register") { (request) throws(Failure) in
        let caller = try request.user()
        var fields = try request.fields()
        let registration = try registration(&fields, request.variables)
        let profile = try fields.profile()
        let state = try State(request.variables, admitting: caller)
        try state.admit(registration, by: caller, at: request.time)
        let device = try state.registry.claim(registration, for: caller, at: request.time)
        Log().registered(registration.token, of: caller)
        if let profile { try state.change(caller, by: profile, at: request.time) }
        return .ok([
            "success": true, "message": "Device token registered successfully",
            "data": device.listing,
        ])
    })

func registration(
    _ fields: inout Fields, _ variables: Variables
) throws(Failure) -> Registration {
    // The app's documents have these beginnings.
    let text = fields.rest["deviceToken"]?.string
    let name = fields.take("platform")?.string ?? ""
    if name != Platform.web.rawValue {
        guard let text, !text.isEmpty else {
            throw .malformed("Invalid device token: deviceToken is required and must be a string")
        }
        guard text.utf8.count >= 32 else {
            throw .malformed("Invalid device token: deviceToken must have at least 32 characters")
        }
    }
    guard let platform = Platform(rawValue: name) else {
        throw .malformed("Invalid platform: platform must be \(Platform.names)")
    }
    var registration = Registration(
        try token(on: platform, &fields, variables))
    registration.platform = platform
    registration.name = try fields.optionalText("deviceName", atMost: 256)
    registration.appVersion = try fields.optionalText("appVersion", atMost: 256)
    registration.model = try fields.optionalText("model", atMost: 128)
    registration.system = try fields.optionalText("os", atMost: 128)
    return registration
}

func token(
    on platform: Platform, _ fields: inout Fields, _ variables: Variables
) throws(Failure) -> DeviceToken {
    do throws(Failure) {
        return try fields.newDevice(on: platform, token: "deviceToken", variables)
    } catch {
        guard platform != .web else { throw error }
        throw .malformed("Invalid device token: \(error.sentence)")
    }
}
