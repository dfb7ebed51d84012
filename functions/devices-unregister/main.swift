// DELETE /api/devices/{device_token}: removes one of the caller's devices, so that nothing is pushed to it.
//
//   in    a JSON Web Token; the path has the device's token or its id
//   out   200 {"success": true, "message"}
//   else  401 unknown caller, 403 another user's device, or by cookie from another site, 404 unknown device,
//         503 the store is busy

import Callers
import Edge
import Store
import Turnstone

serve(
    Route("DELETE", "/api/devices/{device_token}") { (request) throws(Failure) in
        let caller = try request.user()
        try State(request.variables, admitting: caller).registry.unregister(
            request[parameter: "device_token"], by: caller, at: request.time)
        return .ok(["success": true, "message": "Device token unregistered successfully"])
    })
