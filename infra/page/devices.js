// The player's devices.

import {button, make, the} from "./elements.js"
import {ago, text} from "./texts.js"

export const deviceName = (platform, name) => name || text(`devices.${platform}`)

/// devices: as the client lists them. own: the id of this browser. remove: a button's work, for an id.
export function showDevices(devices, own, remove) {
  const rows = devices.map(({id, platform, deviceName: given, reachedAt}) => {
    const name = deviceName(platform, given)
    const label = text("devices.remove")
    const facts = [name]
    if (given) facts.push(text(`devices.${platform}`))
    if (id === own) facts.push(text("browser.title"))
    if (reachedAt) facts.push(text("devices.reached", {ago: ago(Date.parse(reachedAt))}))
    return make("li", {}, facts.join(" · "), button(label, () => remove(id), {className: "quiet", ariaLabel: `${label}: ${name}`}))
  })
  if (rows.length === 0) rows.push(make("li", {}, text("devices.none")))
  the("devices").replaceChildren(...rows)
}
