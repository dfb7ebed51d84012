// A signup, where the server allows it: the player puts a code into the profile on Online-Go.com, and gets a key.
// Loaded only where nobody is signed in.

import {copy} from "../browser.js"
import {button, make, onSubmit, the} from "../elements.js"
import {Obstacle, text} from "../texts.js"
import {ask} from "../turnstone.js"

/// The present signup, which each sign-in and sign-out removes, and what shows its step again.
let steps, draw

export async function showSignup() {
  if (steps?.isConnected) return draw()
  const {signup, site} = (await ask("GET", "signup")).body
  if (signup !== "ogs-profile" || steps?.isConnected) return
  the("signup").replaceChildren(steps = make("div"))
  begin(site)
}

const refusals = {400: "unknown", 401: "expired", 403: "notYet", 404: "unknown", 409: "keys"}

async function send(path, fields) {
  try {
    return (await ask("POST", path, fields)).body
  } catch (failure) {
    throw failure.status in refusals ? new Obstacle(`signup.${refusals[failure.status]}`) : failure
  }
}

const title = () => make("h3", {textContent: text("signup.title"), tabIndex: -1})

function begin(site, value = "") {
  const name = make("input", {id: "signup-name", value, autocomplete: "username", spellcheck: false, required: true, maxLength: 100})
  draw = () => begin(site, name.value)
  const form = make("form", {className: "row"},
    make("label", {}, text("signup.label"), " ", name), make("button", {textContent: text("signup.begin")}))
  onSubmit(form, async () => {
    const own = steps, begun = await send("signup", {username: name.value})
    if (own.isConnected) lead(site, begun)
  })
  steps.replaceChildren(title(), make("p", {textContent: text("signup.intro")}), form)
}

function lead(site, {code, token, username}) {
  draw = () => lead(site, {code, token, username})
  const confirm = async () => {
    const own = steps, {api_key, user_id} = await send("signup/confirm", {username, token})
    if (!own.isConnected) return
    own.remove()
    location.hash = `key=${api_key}&player=${user_id}&own`
  }
  steps.replaceChildren(title(),
    make("p", {}, text("signup.put", {name: username}), " ", make("code", {textContent: code, id: "signup-code"}), " ",
      button(text("copy.copy"), () => copy(code), {className: "quiet"})),
    make("p", {}, make("a", {href: site, target: "_blank", rel: "noopener", textContent: "Online-Go.com"})),
    make("p", {}, make("small", {}, text("signup.warning"))),
    make("p", {}, button(text("signup.confirm"), confirm), button(text("signup.again"), () => begin(site), {className: "quiet"})))
  steps.firstChild.focus()
}
