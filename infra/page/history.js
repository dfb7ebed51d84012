// What became of the player's notifications.

import {deviceName} from "./devices.js"
import {latest, line, make, the} from "./elements.js"
import {known, moment, text} from "./texts.js"

let entries = []
let next = null

/// Shows the newest page and what was loaded after it, or adds the one after the last.
export const showHistory = latest((client, isMore) => client.notifications(isMore ? next : null), (page, _, isMore) => {
  const found = page.notifications, last = found.at(-1)
  const place = isMore ? -1 : entries.findIndex(one => one.id === last?.id && one.at === last.at && one.device === last.device)
  if (place >= 0) {
    entries = [...found, ...entries.slice(place + 1)]
  } else {
    entries = isMore ? [...entries, ...found] : found
    next = page.next
  }
  // A push of the number alone shows nothing to the player.
  const rows = entries.filter(entry => !["badge", "turn_badge"].includes(entry.kind)).map(row)
  if (rows.length === 0 && !next) rows.push(make("li", {}, text("history.none")))
  the("history").replaceChildren(...rows)
  the("history-more").hidden = !next
})

export function forgetHistory() {
  showHistory.cancel()
  entries = []
  the("history-more").hidden = true
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
  const why = isOver ? known(`notSent.${reason}`) : null
  if (why) return text("outcome.notSent", {why})
  const words = isOver ? text("outcome.notSent", {why: text("notSent.late")}) : known(`outcome.${outcome === "quarantined" ? "gone" : outcome}`, outcome)
  return reason ? `${words} (${reason})` : words
}
