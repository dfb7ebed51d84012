// GET /check/{user_id}: lists the player's games by whose turn it is, as of less than ten seconds ago.
// Queues the notice that `check-turns` would have queued.
//
//   in    X-API-Key
//   out   200 {"not_your_turn": [game ids], "your_turn_new": [not notified yet], "your_turn_old": […]}
//   else  400 malformed, 401 unknown key, 403 another user's key, 404 unknown to Online-Go.com,
//         503 Online-Go.com does not answer or is not asked at present

import Edge
import Queueing
import Store
import Turns
import Turnstone

serve(
    Route("GET", "/check/{user_id}") { (request) throws(Failure) in
        let state = try State(request.variables)
        let caller = try state.keys.owner(of: request.apiKey(), at: request.time)
        let player = try request.player("user_id")
        guard player == caller else {
            throw .refused(.forbidden, "this key belongs to another user")
        }
        let looker = try Looker(request.variables, state: state, now: request.time)
        try state.registry.repair(player)
        let result = try looker.look(at: player, youngerThan: .seconds(10)).result
        if result.hasQueued {
            state.startDrainer(for: request)
        }

        // In paused and live games no notification is due, but it is the player's turn.
        let judgement = result.judgement
        return .ok([
            "not_your_turn": ids(judgement.elsewhere),
            "your_turn_new": ids(judgement.new),
            "your_turn_old": ids(judgement.old + judgement.held),
        ])
    })

func ids(_ games: [Game]) -> JSONValue {
    .array(games.map { .integer($0.id) })
}
