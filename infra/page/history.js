// What became of the player's notifications.

import {deviceName} from "./devices.js"
import {make, the} from "./elements.js"
import {moment, text} from "./texts.js"

let entries = []
let next = null
let asked = 0

/// Shows the newest page, or adds the one after the last.
export async function showHistory(client, isMore = false) {
  const own = ++asked
  const page = await client.notifications(isMore ? next : null)
  if (own !== asked) return
  entries = isMore ? [...entries, ...page.notifications] : page.notifications
  next = page.next
  // A push of the number alone shows nothing to the player.
  const rows = entries.filter(entry => !["badge", "turn_badge"].includes(entry.kind)).map(row)
  if (rows.length === 0 && !next) rows.push(make("li", {}, text("history.none")))
  the("history").replaceChildren(...rows)
  the("history-stopped").hidden = !page.stopped
  the("history-more").hidden = !next
}

export function forgetHistory() {
  asked += 1
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
  if (outcome === "superseded" && reason in superseded) return text(`outcome.${superseded[reason]}`)
  const words = text(`outcome.${{quarantined: "gone", expired: "superseded"}[outcome] ?? outcome}`)
  return reason && outcome !== "waiting" ? `${words} (${reason})` : words
}

const superseded = {answered: "answered", newer: "newer", unwanted: "unwanted", unregistered: "unregistered", held: "muted"}
