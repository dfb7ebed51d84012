// GET /api-keys: lists the calling user's API keys, but not the keys' text.
// DELETE /api-keys/{id}: revokes one of them, possibly the one that the request uses.
//
//   in    X-API-Key
//   out   200 {"user_id", "api_keys": [{"id", "description", "created_at": RFC 3339, "last_used": "2026-11-21"}]}
//         200 {"id", "revoked": true}
//   else  401 unknown key, 404 no such key of this user, 503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("GET", "/api-keys") { (request) throws(Failure) in
        let keys = try State(request.variables).keys
        let caller = try keys.owner(of: request.apiKey(), at: request.time)
        return .ok([
            "user_id": .string("\(caller)"),
            "api_keys": .array(try keys.list(of: caller).map(summary)),
        ])
    },
    Route("DELETE", "/api-keys/{id}") { (request) throws(Failure) in
        let keys = try State(request.variables).keys
        let caller = try keys.owner(of: request.apiKey(), at: request.time)
        let id = request[parameter: "id"]
        guard try keys.revoke(id, of: caller, at: request.time) else {
            throw .refused(.notFound, "this user has no such key")
        }
        return .ok(["id": .string(id), "revoked": true])
    })

func summary(_ listed: Keys.Listed) -> JSONValue {
    [
        "id": .string(listed.id), "description": .string(listed.key.description),
        "created_at": .string(CalendarDate(listed.key.created).text),
        "last_used": listed.key.lastUsed.map { .string($0) } ?? .null,
    ]
}
