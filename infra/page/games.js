// The player's games. /diagnostics tells whose turn it is and when the last move was. It has no moves, so there
// is no board.

import {make, the} from "./elements.js"
import {ago, text} from "./texts.js"

const gamesHome = "https://online-go.com/game/"

export function showGames(diagnostics) {
    const games = [...diagnostics.monitored_games].sort((one, other) => one.last_move_timestamp - other.last_move_timestamp)
    const waiting = games.filter(game => game.is_your_turn)
    const others = games.filter(game => !game.is_your_turn).reverse()
    fill("waiting", waiting)
    fill("others", others)
    the("games-note").textContent = games.length === 0 ? text("games.none") : waiting.length === 0 ? text("games.noneWaiting") : ""
    document.title = waiting.length > 0 ? `(${waiting.length}) Turnstone` : "Turnstone"
}

function fill(id, games) {
    the(id).replaceChildren(...games.map(card))
    the(id).hidden = the(`${id}-title`).hidden = games.length === 0
}

function card(game) {
    const name = game.game_name.trim() || text("games.unnamed", {id: game.game_id})
    const facts = [text(game.is_your_turn ? "games.yourTurn" : "games.theirTurn")]
    if (game.last_move_timestamp > 0) facts.push(text("games.lastMove", {ago: ago(game.last_move_timestamp)}))
    return make("li", {},
        make("a", {href: `${gamesHome}${game.game_id}`, rel: "noopener", textContent: name}),
        ...facts.map(fact => make("p", {textContent: fact})))
}
