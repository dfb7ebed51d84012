// Leads a player through a signup, where the server allows it: a code goes into the player's profile on
// Online-Go.com, and a key comes back. It fills the part `signed-out` of the page, and then signs in as a
// sign-in link does.

import {make, the} from "../elements.js"
import {language} from "../texts.js"

let texts = {}

/// Shows the present step again, in the page's language.
let redraw = () => {}

const text = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (_, value) => values[value])

async function ask(path, body) {
  const request = {cache: "no-store", credentials: "omit"}
  if (body) Object.assign(request, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)})
  const response = await fetch(path, request).catch(() => null)
  if (!response) throw new Error(text("offline"))
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  const words = {400: "name", 401: "expired", 403: "notYet", 404: "unknown", 409: "keys", 429: "tooOften", 503: "busy"}
  throw new Error(text(words[response.status] ?? "busy"))
}

/// Runs a step. Meanwhile further presses do nothing.
async function run(button, note, step) {
  if (button.ariaDisabled === "true") return
  button.ariaDisabled = "true"
  note.textContent = ""
  try {
    await step()
  } catch (error) {
    note.textContent = error.message
  } finally {
    button.ariaDisabled = null
  }
}

function begin(place, site) {
  redraw = () => begin(place, site)
  const name = make("input", {id: "signup-name", autocomplete: "username", spellcheck: false, required: true, maxLength: 100})
  const button = make("button", {type: "submit", textContent: text("begin")})
  const note = make("p", {role: "alert"})
  const form = make("form", {}, make("p", {className: "row"}, make("label", {}, text("label"), " ", name), button), note)
  form.addEventListener("submit", event => {
    event.preventDefault()
    run(button, note, async () => show(place, site, await ask("signup", {username: name.value})))
  })
  place.replaceChildren(make("h3", {textContent: text("title")}), make("p", {textContent: text("intro")}), form)
}

function show(place, site, {code, token, username}) {
  redraw = () => show(place, site, {code, token, username})
  const shown = make("code", {textContent: code, id: "signup-code"})
  const copy = make("button", {type: "button", className: "quiet", textContent: text("copy")})
  const confirm = make("button", {type: "button", textContent: text("confirm")})
  const again = make("button", {type: "button", className: "quiet", textContent: text("again")})
  const note = make("p", {role: "alert"})
  const title = make("h3", {textContent: text("title"), tabIndex: -1})
  const profile = make("a", {href: site, target: "_blank", rel: "noopener", textContent: text("open")})
  place.replaceChildren(title,
    make("ol", {},
      make("li", {}, text("put", {name: username}), " ", shown, " ", copy),
      make("li", {}, text("save"), " ", profile),
      make("li", {}, text("come"))),
    make("p", {className: "small", textContent: text("warning")}),
    make("p", {className: "row"}, confirm, again), note)
  copy.addEventListener("click", () => run(copy, note, async () => {
    await navigator.clipboard.writeText(code).catch(() => { throw new Error(text("select")) })
    note.textContent = text("copied")
  }))
  confirm.addEventListener("click", () => run(confirm, note, async () => {
    const {api_key, user_id} = await ask("signup/confirm", {username, token})
    // As if a sign-in link had been opened: the page takes the key out of the address at once.
    location.hash = `key=${api_key}&player=${user_id}`
    location.reload()
  }))
  again.addEventListener("click", () => begin(place, site))
  title.focus()
}

async function offer() {
  const {signup, site} = await ask("signup").catch(() => ({}))
  if (signup !== "ogs-profile") return
  await load()
  const place = make("div", {id: "signup"})
  the("signed-out").append(place)
  begin(place, site)
  new MutationObserver(() => load().then(() => redraw())).observe(document.documentElement, {attributeFilter: ["lang"]})
}

async function load() {
  texts = await (await fetch(`signup/text-${language.toLowerCase()}.json`)).json()
}

// The page shows this part once it knows that nobody is signed in, and its language is known by then.
const part = the("signed-out")
if (part.hidden) {
  const watch = new MutationObserver(() => {
    if (part.hidden) return
    watch.disconnect()
    offer()
  })
  watch.observe(part, {attributeFilter: ["hidden"]})
} else {
  offer()
}
