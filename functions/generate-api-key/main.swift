// POST /generate-api-key: creates an API key for an OGS player.
//
//   in    {"user_id": "1783478", "master_key": "…", "description": "iPhone"}; description may be left out
//   out   200 {"api_key": 64 hex digits, "user_id", "created_at": RFC 3339, "description"}
//   else  400 malformed, 401 wrong master key, 409 the player has as many keys
//         as allowed, 503 MASTER_API_KEY is not set, or the store is busy

import Crypto
import Edge
import Store
import Turnstone

serve(
    Route("POST", "/generate-api-key") { (request) throws(Failure) in
        guard let master = request.variables.text("MASTER_API_KEY") else {
            throw request.variables.wrong(
                "MASTER_API_KEY",
                "no API keys can be created. Set it to a secret, for example from: openssl rand -hex 32"
            )
        }
        var fields = try request.fields()
        guard isEqualInConstantTime(try fields.requiredText("master_key"), master) else {
            throw .refused(.unauthenticated, "Invalid master key")
        }
        let player = try fields.player("user_id")
        let description =
            try fields.optionalText("description", atMost: 200) ?? "iOS App API Key"
        let key = try State(request.variables).keys.create(
            for: player, description: description, at: request.time)
        return .ok([
            "api_key": .string(key), "user_id": .string("\(player)"),
            "created_at": .string(CalendarDate(request.time).text),
            "description": .string(description),
        ])
    })
