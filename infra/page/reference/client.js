// The examples of client.html: each is shown as it is written here, and runs at a press of its button.

import {Client, Failure, now, version} from "../turnstone.js"

const examples = {
    "The games that wait": async client => {
        const {monitored_games} = await client.diagnostics()
        return monitored_games.filter(game => game.is_your_turn).map(game => game.game_name)
    },

    "The devices, and when a push last reached them": async client => {
        const devices = await client.devices()
        return devices.map(device => `${device.deviceName ?? device.platform}: ${device.reachedAt ?? "never"}`)
    },

    "All notifications of the last 30 days, page by page": async client => {
        const all = []
        let next = null
        do {
            const page = await client.notifications(next, 100)
            all.push(...page.notifications)
            next = page.next
        } while (next)
        return all.map(one => `${one.at} ${one.kind}: ${one.outcome}`)
    },

    "Mute for an hour, unless somebody else changes the preferences meanwhile": async client => {
        const {preferences, etag} = await client.preferences()
        const mutedUntil = new Date(now() + 3600_000).toISOString().replace(/\.\d+Z$/, "Z")
        try {
            return (await client.setPreferences({...preferences, mutedUntil}, etag)).preferences
        } catch (failure) {
            if (failure.status !== 412) throw failure
            return "They have changed: read them again."
        }
    },

    "End the mute": async client => {
        const {preferences, etag} = await client.preferences()
        return (await client.setPreferences({...preferences, mutedUntil: null}, etag)).preferences
    },

    "What went wrong": async client => {
        try {
            return await client.sendTest("no-such-device", "en")
        } catch (failure) {
            if (!(failure instanceof Failure)) throw failure
            return `${failure.status}: ${failure.message}`
        }
    },
}

/// The account of a sign-in link.
function account() {
    const parts = new URLSearchParams(document.querySelector("#link").value.trim().split("#").at(-1))
    return {key: parts.get("key") ?? "", player: parts.get("player") ?? ""}
}

function make(name, properties, ...children) {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children)
    return element
}

document.querySelector("#version").textContent = version
for (const [title, example] of Object.entries(examples)) {
    const code = String(example).replaceAll("\n    ", "\n")
    const result = make("output", {})
    const run = make("button", {ariaLabel: `Run: ${title}`}, "Run")
    run.addEventListener("click", async () => {
        result.textContent = "…"
        const found = await example(new Client(account())).catch(error => `${error.status ?? ""} ${error.message}`)
        result.textContent = JSON.stringify(found, null, 2)
    })
    document.querySelector("#examples").append(make("h3", {}, title), make("pre", {tabIndex: 0}, code), make("p", {}, run), result)
}
