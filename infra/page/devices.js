// The player's devices as far as an API key shows them: this browser, and the device that was registered first.

import {make, the} from "./elements.js"
import {text} from "./texts.js"

/// isOn: whether notifications are on in this browser. remove: called when it is to be removed.
export function showDevices(diagnostics, isOn, remove) {
    const rows = []
    if (isOn) {
        const button = make("button", {type: "button", className: "quiet", textContent: text("devices.remove")})
        button.setAttribute("aria-label", text("devices.removeThis"))
        button.addEventListener("click", () => remove(button))
        rows.push(make("li", {}, text("devices.thisBrowser"), button))
    }
    if (diagnostics?.device_token_registered) {
        let line = text("devices.first", {kind: text(`devices.${diagnostics.device_platform}`), preview: diagnostics.device_token_preview})
        if (diagnostics.device_stale) line += ` ${text("devices.stale")}`
        rows.push(make("li", {}, line))
    }
    if (rows.length === 0) rows.push(make("li", {}, text("devices.none")))
    the("devices").replaceChildren(...rows)
}
