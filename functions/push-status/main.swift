// GET /api/push/status: which of the caller's tokens can receive pushes.
//
//   in    a JSON Web Token
//   out   200 {"deviceTokenRegistered", "devices": [{"id", "platform"}],
//         "liveActivityTokens": [{"activityId", "sessionId", "registeredAt"}]}
//   else  401 unknown caller

import Callers
import Documents
import Edge
import Store
import Turnstone

serve(
    Route("GET", "/api/push/status") { (request) throws(Failure) in
        let caller = try request.user()
        let user =
            try State(request.variables, admitting: caller).users[caller].read()
            ?? User()
        let usable = user.devices.filter { $0.quarantined == nil }
        return .ok([
            "deviceTokenRegistered": .bool(usable.contains { $0.kind == .device }),
            "devices": .array(
                usable.filter { $0.kind == .device }.map { device in
                    ["id": .string(device.id), "platform": .string(device.platform.rawValue)]
                }),
            "liveActivityTokens": .array(usable.compactMap { activity($0) }),
        ])
    })

func activity(_ device: Device) -> JSONValue? {
    guard case .liveActivity(let activity, let session) = device.kind else { return nil }
    return [
        "activityId": activity.map { .string($0) } ?? .null,
        "sessionId": session.map { .string($0) } ?? .null,
        "registeredAt": .string(CalendarDate(device.registered).millisecondText),
    ]
}
