// POST /api/push/channels: makes a broadcast channel, for Live Activities of many people at once.
// GET /api/push/channels: which ones there are.
// GET /api/push/channels/{id}: what APNs keeps for one.
// DELETE /api/push/channels/{id}: deletes one.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//         POST {"messageStoragePolicy": "none" or "newest", "environment"?}; else ?environment=
//   out   201, 200 {"success": true, "id", "messageStoragePolicy", "environment"}; of all: {"success": true, "channels"};
//         DELETE: 200 {"success": true}
//   else  400 malformed, 401 no or an unknown server key, 404 no such channel, 409 as many as there may be, or an
//         update is on its way to it, 502 APNs makes no sense, 503 APNs or the store is not to be had

import Edge
import Spool
import Store
import Turnstone

serve(
    Route("POST", "/api/push/channels") { (request) throws(Failure) in
        try request.requireServerKey()
        var fields = try request.fields()
        let wanted = try ChannelRequest(&fields)
        let manager = try ChannelManager(request, in: wanted.environment)
        let id = try manager.create(keeping: wanted.policy)
        return manager.answer(201, id, wanted.policy)
    },
    Route("GET", "/api/push/channels") { (request) throws(Failure) in
        try request.requireServerKey()
        let manager = try ChannelManager(request, in: request.environment())
        return .ok([
            "success": true, "environment": .string(manager.environment.rawValue),
            "channels": .array(try manager.list().map { .string($0.text) }),
        ])
    },
    Route("GET", "/api/push/channels/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let id = try request.channel()
        let manager = try ChannelManager(request, of: id)
        return manager.answer(200, id, try manager.policy(of: id))
    },
    Route("DELETE", "/api/push/channels/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let id = try request.channel()
        try ChannelManager(request, of: id).delete(id)
        return .ok(["success": true])
    })
