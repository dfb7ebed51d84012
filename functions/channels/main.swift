// POST /api/push/channels: creates a broadcast channel, which updates many people's Live Activities at once.
// GET /api/push/channels: lists the channels.
// GET /api/push/channels/{id}: describes one.
// DELETE /api/push/channels/{id}: deletes one.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//         POST {"messageStoragePolicy": "none" or "newest", "environment"?}; else ?environment=
//   out   201, 200 {"success": true, "id", "messageStoragePolicy", "environment"}
//         list: 200 {"success": true, "environment", "channels"}; DELETE: 200 {"success": true}
//   else  400 malformed, 401 missing or unknown server key, 404 no such channel, 409 too many channels, or
//         an update is on its way to this one, 502 unusable answer from APNs, 503 APNs or the store is
//         unavailable

import Edge
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
