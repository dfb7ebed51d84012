import JSON
import OGS
import Turnstone

/// The scanner of OGS's answers: a text that the JSON reader accepts as a list of games is not an outage, and
/// each game has an id.
@Sendable func ogs(_ bytes: [UInt8]) -> String? {
    let found = ActiveGames(answer: bytes)
    if let found, let me = PlayerID(number: 42) {
        guard found.games.allSatisfy({ $0.id > 0 }) else { return "a game has no id" }
        let judgement = TurnRule.judge(found, ledger: TurnLedger(), player: me, includingLive: true)
        guard judgement.badge <= found.games.count else { return "more turns than games" }
    }
    let listed = (try? JSON.parse(bytes))?.object?["active_games"]?.array
    guard let listed else { return nil }
    guard let found else { return "a list of games is taken for an outage" }
    guard found.games.count + found.skipped == listed.count else { return "a game was lost" }
    return nil
}
