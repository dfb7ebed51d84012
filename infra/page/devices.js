// The player's devices.

import {button, line, make, the} from "./elements.js"
import {ago, known, text} from "./texts.js"

const names = {ios: "iPhone, iPad", android: "Android"}

export const deviceName = (platform, name) => name || (names[platform] ?? known(`devices.${platform}`, platform))

/// devices: as the client lists them. own: this browser's id. remove: a button's work, for an id and a client.
export function showDevices(devices, own, remove) {
  const rows = devices.map(({id, platform, deviceName: given, reachedAt}, place) => {
    const label = text("devices.remove")
    const facts = [deviceName(platform, given), given && deviceName(platform), id === own && text("browser.title"),
      reachedAt && text("devices.reached", {ago: ago(Date.parse(reachedAt))})].filter(Boolean)
    return make("li", {}, line(facts), button(label, client => remove(id, client), {className: "quiet", ariaLabel: `${label} ${place + 1}: ${facts.join(", ")}`}))
  })
  if (rows.length === 0) rows.push(make("li", {}, text("devices.none")))
  the("devices").replaceChildren(...rows)
}
