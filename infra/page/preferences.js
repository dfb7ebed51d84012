// Which notifications the player wants, and when.

import {latest, make, onClick, onSubmit, the} from "./elements.js"
import {moment, text} from "./texts.js"
import {now} from "./turnstone.js"

let current = null

export const showPreferences = latest(client => client.preferences(), found => {
  current = found
  showForm()
  showMute()
  the("wanted").inert = false
})

/// Nothing can be changed until preferences are shown again: it would be lost when they are.
export function forgetPreferences() {
  showPreferences.cancel()
  current = null
  the("wanted").inert = true
}

/// Answers once saved. Throws Failure; with status 412 everything shows what is stored now.
async function save(client, changes) {
  const former = current
  try {
    const saved = await client.setPreferences({...current.preferences, ...changes}, current.etag)
    if (current === former) current = saved
  } catch (failure) {
    if (failure.status === 412 && current === former) await showPreferences(client)
    throw failure
  }
}

export function preparePreferences() {
  the("zones").replaceChildren(...(Intl.supportedValuesOf?.("timeZone") ?? []).map(value => make("option", {value})))
  the("quiet").onchange = enableTimes
  onSubmit(the("preferences"), async client => {
    await save(client, {kinds: chosenKinds(), quietHours: chosenTimes()})
    showForm()
    return text("wanted.saved")
  })
  const mute = (id, until) => onClick(id, async client => {
    await save(client, {mutedUntil: until()})
    showMute()  // what is being changed in the form stays
    return the("mute-state").textContent || text("wanted.saved")
  })
  mute("mute-hour", () => new Date(now() + 3600_000))
  mute("mute-morning", morning)
  mute("unmute", () => null)
}

/// The next seven o'clock here.
function morning() {
  const date = new Date(now())
  date.setHours(7, 0, 0, 0)
  if (date <= now()) date.setDate(date.getDate() + 1)
  return date
}

function showForm() {
  const {kinds = {}, quietHours} = current.preferences
  the("kinds").replaceChildren(...[...new Set(["turn", ...Object.keys(kinds).sort()])].map(kind => {
    const box = make("input", {type: "checkbox", name: kind, checked: kinds[kind] !== false})
    const name = make("span", {}, kind)
    if (kind === "turn") name.textContent = text(name.dataset.text = "games.waiting")
    return make("p", {}, make("label", {}, box, " ", name))
  }))
  the("quiet").checked = Boolean(quietHours)
  the("quiet-from").value = quietHours?.from ?? "22:00"
  the("quiet-to").value = quietHours?.to ?? "07:00"
  the("quiet-zone").value = quietHours?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  enableTimes()
}

export function showMute() {
  const until = new Date(current?.preferences.mutedUntil ?? 0), isMuted = until > now()
  the("mute-state").textContent = isMuted ? text("wanted.muted", {until: moment(until)}) : ""
  // A hidden button loses the keyboard's focus.
  if (!isMuted && document.activeElement === the("unmute")) the("mute-hour").focus()
  the("unmute").hidden = !isMuted
}

const enableTimes = () => { the("times").disabled = !the("quiet").checked }

/// Kinds that are not listed are wanted, but one that was listed stays in the list.
function chosenKinds() {
  const kinds = {...current.preferences.kinds}
  for (const box of the("kinds").querySelectorAll("input")) if (!box.checked || box.name in kinds) kinds[box.name] = box.checked
  return kinds
}

function chosenTimes() {
  if (!the("quiet").checked) return null
  return {from: the("quiet-from").value, to: the("quiet-to").value, timeZone: the("quiet-zone").value}
}
