// The operator's page: asks for the server key, keeps it in this tab, and shows what GET /api/status answers.

import {make, putWords, run, tell, the} from "../elements.js"
import {show} from "./overview.js"
import {events, timeline} from "./timeline.js"

/// Installations may share a host.
const place = `turnstone-server-key ${new URL(".", location).pathname}`
/// How often the page asks, if it is told to.
const every = 30_000
/// How long it waits for an answer.
const patience = 30_000

class Failure extends Error {
    constructor(status, sentence) {
        super(sentence)
        this.status = status
    }
}

const key = () => sessionStorage.getItem(place) ?? ""

async function ask(path, own = key()) {
    const [foreign] = own.match(/[^ -~]/u) ?? []
    if (foreign) {
        const code = foreign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")
        throw new Failure(0, `The server key contains the character U+${code}. A key has printable ASCII characters only. Copy it again.`)
    }
    let response, answer
    try {
        response = await fetch(`../api/status${path}`, {
            headers: {Authorization: `Key ${own}`}, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout?.(patience),
        })
        const text = await response.text()
        answer = JSON.parse(text.startsWith("{") ? text : "{}")
    } catch {
        throw new Failure(0, "The server does not answer. Check the network, and that nginx and fcgiwrap run.")
    }
    if (response.ok && answer.success) return answer
    const words = {
        401: "The server key is wrong.", 404: answer.error ?? "There is no such program on this server.",
        429: "Too many requests. Wait a minute.", 503: "The server is misconfigured or busy. Its log says why: journalctl -u 'turnstone-*'",
    }
    throw new Failure(response.status, words[response.status] ?? answer.error ?? `The server answered ${response.status}.`)
}

/// Signs out if the key is wrong, and answers the error in words.
function failed(error) {
    if (error.status === 401) signOut()
    return error.message
}

putWords(failed, () => "Waiting for the server…", () => null)

let asked = 0

async function refresh() {
    asked += 1
    const own = asked
    const found = await ask("")
    // An answer that comes after a later one was asked for tells of the past.
    if (own === asked && key()) show(found)
}

function showSignedIn(isSignedIn) {
    the("signed-out").hidden = isSignedIn
    the("signed-in").hidden = !isSignedIn
}

function signOut() {
    sessionStorage.removeItem(place)
    for (const id of ["problems", "cycles", "queues", "day", "month", "devices", "timeline", "when", "verdict",
        "cycles-note", "queues-note", "pushes-note", "devices-note"]) the(id).replaceChildren()
    the("timeline").hidden = true
    the("automatic").checked = false
    the("ask-user").reset()
    tell("")
    showSignedIn(false)
    the("key").focus()
}

async function showUser(user) {
    // In an address, these are not names.
    if (user === "." || user === "..") throw new Failure(0, "No user has this id.")
    const path = `/${encodeURIComponent(user)}`
    the("timeline").hidden = true
    const found = await ask(path)
    if (!key()) return  // signed out meanwhile
    const rows = make("div")
    let last = found
    rows.append(events(last))
    const more = make("button", {type: "button", className: "quiet", textContent: "Earlier"})
    more.hidden = !last.next
    more.addEventListener("click", () => run(more, async () => {
        last = await ask(`${path}?after=${encodeURIComponent(last.next)}`)
        rows.append(events(last))
        more.hidden = !last.next
        return last.next === null ? "These are all." : ""
    }))
    the("timeline").replaceChildren(...timeline(found), rows, make("p", {}, more))
    the("timeline").hidden = false
}

the("sign-in").addEventListener("submit", event => {
    event.preventDefault()
    const given = the("key").value.trim()
    run(event.submitter ?? the("sign-in").querySelector("button"), async () => {
        const found = await ask("", given)
        sessionStorage.setItem(place, given)
        the("key").value = ""
        showSignedIn(true)
        show(found)
        the("main").focus()
    })
})
the("ask-user").addEventListener("submit", event => {
    event.preventDefault()
    run(event.submitter ?? the("ask-user").querySelector("button"), () => showUser(the("user").value.trim()))
})
the("refresh").addEventListener("click", () => run(the("refresh"), async () => {
    await refresh()
    return "Refreshed."
}))
the("sign-out").addEventListener("click", signOut)
let hasFailed = false
setInterval(async () => {
    if (!the("automatic").checked || !key() || document.visibilityState !== "visible") return
    try {
        await refresh()
        if (hasFailed) tell("")
        hasFailed = false
    } catch (error) {
        hasFailed = true
        tell("", failed(error))
    }
}, every)

if (key()) {
    showSignedIn(true)
    run(the("refresh"), refresh)
} else {
    showSignedIn(false)
}
