// POST /rotate-api-key: replaces the caller's API key. The old key stops working.
//
//   in    X-API-Key; no body
//   out   200 {"api_key": 64 hex digits, "user_id", "created_at": RFC 3339, "description"}
//   else  401 unknown key, 429 too many requests or new keys, 503 the store is busy

import Edge
import Store
import Turnstone

serve(
    Route("POST", "/rotate-api-key") { (request) throws(Failure) in
        let state = try State(request.variables)
        let keys = state.keys
        let old = try request.apiKey()
        let caller = try keys.owner(of: old, at: request.time)
        try state.admitRotation(by: UserID(caller))
        let new = try keys.rotate(old, of: caller, at: request.time)
        return .ok([
            "api_key": .string(new.text), "user_id": .string("\(caller)"),
            "created_at": .string(CalendarDate(request.time).text),
            "description": .string(new.description),
        ])
    })
