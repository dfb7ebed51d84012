// POST /api/devices/register: registers a device for the caller alone.
//
//   in    a JSON Web Token, {"deviceToken", "platform": "ios" or "android", "deviceName"?, "appVersion"?}
//   out   200 {"success": true, "message",
//         "data": {"id", "platform", "deviceName", "createdAt", "updatedAt"}}
//   else  400 malformed, 401 unknown caller, 403 by cookie from another site, 409 the user has
//         as many devices as allowed, 503 the store is busy

import Callers
import Edge
import Store
import Turnstone

serve(
    Route("POST", "/api/devices/register") { (request) throws(Failure) in
        let caller = try request.user()
        var fields = try request.fields()
        let registration = try registration(&fields)
        let device = try State(request.variables, admitting: caller).registry.claim(
            registration, for: caller, at: request.time)
        Log().registered(registration.token, of: caller)
        return .ok([
            "success": true, "message": "Device token registered successfully",
            "data": device.listing,
        ])
    })

func registration(_ fields: inout Fields) throws(Failure) -> Registration {
    // The app's documents have these beginnings.
    guard let text = fields.take("deviceToken")?.string, !text.isEmpty else {
        throw .malformed("Invalid device token: deviceToken is required and must be a string")
    }
    guard text.utf8.count >= 32 else {
        throw .malformed("Invalid device token: deviceToken must have at least 32 characters")
    }
    guard let platform = Platform(rawValue: fields.take("platform")?.string ?? "") else {
        throw .malformed("Invalid platform: platform must be ios or android")
    }
    guard let token = DeviceToken(text, on: platform) else {
        throw .malformed(
            "Invalid device token: deviceToken must be \(DeviceToken.form(on: platform))")
    }
    var registration = Registration(token)
    registration.platform = platform
    registration.name = try fields.optionalText("deviceName", atMost: 256)
    registration.appVersion = try fields.optionalText("appVersion", atMost: 256)
    return registration
}
