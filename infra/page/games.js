// The player's games, as /diagnostics?details=true shows them.

import {board} from "./board.js"
import {make, the} from "./elements.js"
import {ago, inTime, text} from "./texts.js"

export function showGames({monitored_games, site = "https://online-go.com"}) {
  const games = [...monitored_games].sort((one, other) => one.last_move_timestamp - other.last_move_timestamp)
  const waiting = games.filter(game => game.is_your_turn)
  fill("waiting", waiting, site)
  fill("others", games.filter(game => !game.is_your_turn).reverse(), site)
  the("games-note").textContent = [waiting.length === 0 && text("games.noneWaiting"),
    games.some(game => !game.board) && text("games.noBoard")].filter(Boolean).join(" ")
  performance.mark("games-shown")
  document.title = waiting.length > 0 ? `(${waiting.length}) Turnstone` : "Turnstone"
  // Pushes only raise the number. It falls here, once moves were made.
  navigator.setAppBadge?.(waiting.length).catch(() => {})
}

function fill(id, games, site) {
  the(id).replaceChildren(...games.map(game => card(game, site)))
  the(id).hidden = the(`${id}-title`).hidden = games.length === 0
}

function card(game, site) {
  const name = game.game_name.trim() || text("games.unnamed", {id: game.game_id})
  const facts = []
  if (game.opponent) facts.push(text("games.against", {name: game.opponent}))
  if (game.paused) facts.push(text("games.paused"))
  else if (game.expiration > 0) facts.push(text("games.left", {time: inTime(game.expiration)}))
  if (game.last_move_timestamp > 0) facts.push(text("games.lastMove", {ago: ago(game.last_move_timestamp)}))
  return make("li", {}, ...(game.board ? [board(game.board)] : []), make("div", {},
    make("a", {href: `${site}/game/${game.game_id}`, rel: "noopener", textContent: name}),
    ...facts.map(fact => make("p", {textContent: fact}))))
}
