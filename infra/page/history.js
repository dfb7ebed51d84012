// What became of the player's notifications.

import {deviceName} from "./devices.js"
import {latest, make, the} from "./elements.js"
import {isText, moment, text} from "./texts.js"

let entries = []
let next = null

/// Shows the newest page, or adds the one after the last.
export const showHistory = latest((client, isMore) => client.notifications(isMore ? next : null), (page, _, isMore) => {
  entries = isMore ? [...entries, ...page.notifications] : page.notifications
  next = page.next
  // A push of the number alone shows nothing to the player.
  const rows = entries.filter(entry => !["badge", "turn_badge"].includes(entry.kind)).map(row)
  if (rows.length === 0 && !next) rows.push(make("li", {}, text("history.none")))
  the("history").replaceChildren(...rows)
  the("history-stopped").hidden = !page.stopped
  the("history-more").hidden = !next
})

export function forgetHistory() {
  showHistory.cancel()
  entries = []
  the("history").replaceChildren()
}

function row(entry) {
  const facts = [moment(new Date(entry.at)), kind(entry.kind), deviceName(entry.platform, entry.deviceName)]
  return make("li", {}, facts.join(" · "), make("span", {className: `outcome ${entry.outcome}`, textContent: outcomeText(entry)}))
}

const kind = name => name === "turn" ? text("games.waiting") : name === "test" ? text("history.test") : name ?? text("history.message")

/// What became of it in words, with the push service's reason where that says more.
export function outcomeText({outcome, reason}) {
  if (outcome === "waiting") return text(`outcome.${reason === "held" ? "held" : "waiting"}`)
  const why = `notSent.${reason}`, isOver = ["superseded", "expired"].includes(outcome)
  if (isOver && isText(why)) return text("outcome.notSent", {why: text(why)})
  const words = isOver ? text("outcome.notSent", {why: text("notSent.late")}) : text(`outcome.${outcome === "quarantined" ? "gone" : outcome}`)
  return reason ? `${words} (${reason})` : words
}
