// The player's devices.

import {make, the} from "./elements.js"
import {ago, text} from "./texts.js"

export const deviceName = (platform, name) => name || text(`devices.${platform}`)

/// devices: as the client lists them. own: the id of this browser. remove: is called with a button and an id.
export function showDevices(devices, own, remove) {
  const rows = devices.map(device => {
    const isOwn = device.id === own
    const name = deviceName(device.platform, device.deviceName)
    const button = make("button", {type: "button", className: "quiet", textContent: text("devices.remove")})
    button.ariaLabel = `${button.textContent}: ${name}`
    button.addEventListener("click", () => remove(button, device.id))
    const facts = [name]
    if (device.deviceName) facts.push(text(`devices.${device.platform}`))
    if (isOwn) facts.push(text("browser.title"))
    if (device.reachedAt) facts.push(text("devices.reached", {ago: ago(Date.parse(device.reachedAt))}))
    return make("li", {}, facts.join(" · "), button)
  })
  if (rows.length === 0) rows.push(make("li", {}, text("devices.none")))
  the("devices").replaceChildren(...rows)
}
