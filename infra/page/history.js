// What became of the player's notifications.

import {deviceName} from "./devices.js"
import {latest, line, make, the} from "./elements.js"
import {known, moment, text} from "./texts.js"

let entries = [], next = null, isIncomplete = false

/// Shows the newest page and what was loaded after it.
export const showHistory = latest(client => client.notifications(), page => {
  const found = page.notifications, last = found.at(-1)
  const place = entries.findIndex(one => one.id === last?.id && one.at === last.at && one.device === last.device)
  isIncomplete = page.incomplete || place >= 0 && place < entries.length - 1 && isIncomplete
  if (place < 0) show(found, page.next)
  else show([...found, ...entries.slice(place + 1)], next)
})

/// Adds the page after the last entry, if the list still ends there when it comes.
export async function showMore(client) {
  const end = next, page = await client.notifications(end)
  if (end !== next) return
  isIncomplete ||= page.incomplete
  show([...entries, ...page.notifications], page.next)
}

function show(...shown) {
  [entries, next] = shown
  // A push of the number alone shows nothing to the player.
  const rows = entries.filter(entry => !["badge", "turn_badge"].includes(entry.kind)).map(row)
  if (isIncomplete) rows.push(make("li", {}, text("history.incomplete")))
  if (rows.length === 0 && !next) rows.push(make("li", {}, text("history.none")))
  the("history").replaceChildren(...rows)
  const more = the("history-more"), isFocused = document.activeElement === more
  more.hidden = !next
  if (isFocused && !next) the("history").focus()
}

export function forgetHistory() {
  showHistory.cancel()
  isIncomplete = false
  show([], null)
}

function row(entry) {
  return make("li", {}, line([moment(new Date(entry.at)), kind(entry.kind), deviceName(entry.platform, entry.deviceName)]),
    make("span", {className: `outcome ${entry.outcome}`, textContent: outcomeText(entry)}))
}

const kind = name => name === "turn" ? text("games.waiting") : name === "test" ? text("history.test") : name ?? text("history.message")

/// What became of it in words, with the push service's reason where that says more.
export function outcomeText({outcome, reason}) {
  if (outcome === "waiting") return text(`outcome.${reason === "held" ? "held" : "waiting"}`)
  const isOver = ["superseded", "expired"].includes(outcome)
  const why = isOver && known(`notSent.${reason}`)
  const words = isOver ? text("outcome.notSent", {why: why ?? text("notSent.late")}) : known(`outcome.${outcome === "quarantined" ? "gone" : outcome}`, outcome)
  return reason && !why ? `${words} (${reason})` : words
}
