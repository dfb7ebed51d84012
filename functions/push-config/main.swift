// GET /api/push/config: what a page needs to subscribe a browser to Web Push.
//
//   in    nothing: anyone may ask
//   out   200 {"success": true, "vapid_public_key": "<base64url of 65 bytes>"}
//   else  404 Web Push is off (VAPID_SUBJECT is not set)

import Edge
import PushServices
import Signatures
import Store
import Turnstone
import WebPushCredentials

serve(
    Route("GET", "/api/push/config") { (request) throws(Failure) in
        guard let settings = try WebPushSettings(request.variables) else {
            throw .refused(.notFound, "Web Push is off: VAPID_SUBJECT is not set")
        }
        let key = try State(request.variables).vapidKey(settings).publicKey
        return .ok(["success": true, "vapid_public_key": .string(base64URL(key.point))])
    })
