// GET /api/devices: lists the caller's devices, most recently registered first.
//
//   in    a JSON Web Token
//   out   200 {"success": true, "data": [{"id", "platform", "deviceName", "createdAt", "updatedAt"}]}
//   else  401 unknown caller

import Callers
import Documents
import Edge
import Store
import Turnstone

serve(
    Route("GET", "/api/devices") { (request) throws(Failure) in
        let caller = try request.user()
        let user =
            try State(request.variables, admitting: caller).users[caller].read()
            ?? User()
        let devices = user.devices.filter { $0.kind == .device }
            .sorted { $0.registered > $1.registered }
        return .ok(["success": true, "data": .array(devices.map { $0.listing })])
    })
