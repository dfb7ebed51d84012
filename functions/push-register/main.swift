// POST /api/push/register: registers a token of a device or a Live Activity for the caller alone.
//
//   in    a JSON Web Token, {"token", "tokenType": "device", "live_activity" or "live_activity_start",
//         "platform"?, "environment"?, "previousToken"?, "appVersion"?, "model"?, "os"?, "profile"?: as for
//         PATCH /api/profile}; a live_activity has "activityId" or "sessionId" or both, a live_activity_start
//         "attributesType"; with "platform": "web", "subscription" and "previousSubscription"? instead of the
//         tokens
//   out   200 {"success": true, "id"}
//   else  400 malformed, 401 unknown caller, 403 by cookie from another site, 409 the user has as many
//         tokens as allowed, or the activityId or an alias of the profile is another user's, 422 an unknown
//         push service or a wrong value in the profile, 429 too many requests or new tokens, 503 the store is
//         busy

import Callers
import Edge
import Profiles
import Queueing
import Spool
import Store
import Turnstone

serve(
    Route("POST", "/api/push/register") { (request) throws(Failure) in
        let caller = try request.user()
        var fields = try request.fields()
        let registration = try registration(&fields, request.variables)
        let profile = try fields.profile()
        let state = try State(request.variables, admitting: caller)
        try state.admit(registration, by: caller, at: request.time)
        let spools = state.spools
        let device = try state.registry.claim(registration, for: caller, at: request.time) {
            (carrier, device) throws(Failure) in try spools.isMissed(carrier, by: device.ids)
        }
        Log().registered(registration.token, of: caller)
        if let profile { try state.change(caller, by: profile, at: request.time) }
        return .ok(["success": true, "id": .string(device.id)])
    })

func registration(
    _ fields: inout Fields, _ variables: Variables
) throws(Failure) -> Registration {
    let kind = try kind(&fields)
    let platform = try fields.platform() ?? .ios
    guard platform == .ios || kind == .device else {
        throw .malformed("platform must be ios for a Live Activity")
    }
    var registration = Registration(
        try fields.newDevice(on: platform, token: "token", variables))
    registration.kind = kind
    registration.platform = platform
    registration.environment = try fields.environment(on: platform)
    registration.previous = try previous(&fields, on: platform)
    registration.appVersion = try fields.optionalText("appVersion", atMost: 256)
    registration.model = try fields.optionalText("model", atMost: 128)
    registration.system = try fields.optionalText("os", atMost: 128)
    return registration
}

func previous(
    _ fields: inout Fields, on platform: Platform
) throws(Failure) -> DeviceToken? {
    let name = "previousSubscription"
    let subscription = fields.take(name)
    guard platform == .web else {
        guard subscription == nil else { throw .malformed("\(name) requires platform web") }
        return try fields.optionalText("previousToken").flatMap { DeviceToken($0, on: platform) }
    }
    guard try fields.optionalText("previousToken") == nil else {
        throw .malformed("platform web requires \(name) instead of previousToken")
    }
    guard let subscription else { return nil }
    return DeviceToken(try PushSubscription(subscription, name: name))
}

func kind(_ fields: inout Fields) throws(Failure) -> TokenKind {
    let activity = try fields.optionalText("activityId", atMost: 256)
    let session = try fields.optionalText("sessionId", atMost: 256)
    switch try fields.requiredText("tokenType") {
    case "device": return .device
    case "live_activity":
        guard activity != nil || session != nil else {
            throw .malformed("activityId or sessionId is required")
        }
        return .liveActivity(activity: activity, session: session)
    case "live_activity_start":
        guard let type = try fields.optionalText("attributesType", atMost: 256) else {
            throw .malformed("attributesType is required")
        }
        return .liveActivityStart(attributesType: type)
    default:
        throw .malformed("tokenType must be device, live_activity or live_activity_start")
    }
}
