// GET /api/devices: lists the caller's devices, most recently registered first.
//
//   in    a JSON Web Token, or X-API-Key
//   out   200 {"success": true, "data": [{"id", "platform", "deviceName", "createdAt", "updatedAt",
//         "reachedAt"}]}
//   else  401 unknown caller

import Callers
import Documents
import Edge
import Store
import Turnstone

serve(
    Route("GET", "/api/devices") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.users[state.caller(of: request)].read() ?? User()
        let devices = user.devices.filter { $0.kind == .device }
            .sorted { $0.registered > $1.registered }
        return .ok(["success": true, "data": .array(devices.map { listing(of: $0) })])
    })

func listing(of device: Device) -> JSONValue {
    var members = device.listing.object ?? [:]
    members["reachedAt"] =
        device.reached.map { .string(CalendarDate($0).millisecondText) } ?? .null
    return .object(members)
}
