// The player's games, as /diagnostics?details=true shows them.

import {board} from "./board.js"
import {make, the} from "./elements.js"
import {ago, inTime, text} from "./texts.js"

export function showGames({monitored_games, site = "https://online-go.com"}) {
  const games = [...monitored_games].sort((one, other) => one.last_move_timestamp - other.last_move_timestamp)
  const waiting = games.filter(game => game.is_your_turn)
  fill("waiting", waiting, site)
  fill("others", games.filter(game => !game.is_your_turn).reverse(), site)
  const notes = []
  if (waiting.length === 0) notes.push(text("games.noneWaiting"))
  if (games.some(game => !game.board)) notes.push(text("games.noBoard"))
  the("games-note").textContent = notes.join(" ")
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
