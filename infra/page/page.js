// The player's page: signs in by the link, shows the parts, and says what went wrong.

import {account, accountIn, forgetAccount, keepAccount, linkOf, place, registration} from "./account.js"
import {copy, isApple, isOn, listed, obstacle, renew, tidy, turnOff, turnOn, worker} from "./browser.js"
import {showDevices} from "./devices.js"
import {button, latest, make, meanwhile, onClick, onSubmit, putWords, tell, the} from "./elements.js"
import {showGames} from "./games.js"
import {forgetHistory, outcomeText, showHistory, showMore} from "./history.js"
import {forgetPreferences, preparePreferences, showMute, showPreferences} from "./preferences.js"
import {failureText, language, languages, Obstacle, showTexts, text, want} from "./texts.js"
import {Client} from "./turnstone.js"

/// Longer than an answer is waited for.
const lookEvery = 31_000

/// For a test's receipt.
const testPause = 1500, testLooks = 20

// The key may be revoked.
putWords(failure => {
  showBrowser()
  return failureText(failure)
}, () => text("waiting"), () => client)

let client = null

/// The parts that could not be shown, and why.
const missing = new Map()

/// Says so in #problem, while nothing else is there: what a press caused stays.
const complaint = make("span")

function complain() {
  const [failure] = missing.values()
  if (!failure) return complaint.remove()
  const words = failureText(failure)
  if (complaint.firstChild?.data !== words) {
    complaint.replaceChildren(words, " ", button(text("again"), () => {
      the("main").focus()
      return load(look)
    }))
  }
  if (!the("problem").firstChild) the("problem").append(complaint)
}

/// Asks for parts, and for the missing ones.
async function load(...parts) {
  const asking = client
  if (!asking) return
  await Promise.all([...new Set([...parts, ...missing.keys()])].map(async part => {
    await part(asking).then(isLate => isLate || asking !== client || missing.delete(part), failure => {
      if (asking === client) missing.set(part, failure)
      showBrowser()
    })
    complain()
  }))
}

async function showBrowser() {
  const on = await isOn()
  const reason = client?.isRefused ? "failure.key" : obstacle()
  the("browser-state").textContent = text(reason ?? (on ? "browser.on" : "browser.off"))
  const focused = document.activeElement
  the("turn-on").hidden = on || reason !== null
  the("turn-off").hidden = !on
  the("test").hidden = !on || reason !== null
  the("copy-link").hidden = reason !== "browser.homeScreen"
  // A hidden button loses the keyboard's focus: another takes it.
  if (focused?.hidden) the(on ? "turn-off" : "turn-on").focus()
}

const look = latest(client => client.diagnostics(), found => {
  const {href} = document.activeElement
  showGames(found)
  // The cards are new, and the focus would be lost.
  if (href) [...document.links].find(link => link.href === href)?.focus()
})

const putLanguage = latest(client => client.setLanguage(language))

async function listDevices(asking) {
  const [devices, own] = await listed(asking)
  if (asking !== client) return
  showDevices(devices, own?.id, remove)
  await showBrowser()
}

const renewal = latest(async client => {
  await showBrowser()
  await listDevices(client)
  if (await renew(client)) await listDevices(client)
})

async function remove(id, client) {
  const isOwn = (await registration(client.account))?.id === id
  await (isOwn ? turnOff(client) : client.unregister(id))
  await listDevices(client)
  the("main").focus()
  return text(isOwn ? "browser.off" : "notSent.unregistered")
}

/// Sends a real push to this browser, and answers what its receipt says.
async function test(asking) {
  const send = async () => {
    const own = await registration(asking.account)
    if (!own) throw new Obstacle("browser.off")
    return asking.sendTest(own.id, language)
  }
  const id = await send().catch(async failure => {
    // 404: removed elsewhere, or just renewed. 409: reached once it is registered again.
    if (failure.status === 404) await listDevices(asking)
    else if (failure.status === 409) await renew(asking)
    else throw failure
    return send()
  })
  let found = {outcome: "waiting"}
  for (let look = 0; look < testLooks && found.outcome === "waiting" && asking === client; look += 1) {
    await new Promise(done => setTimeout(done, testPause))
    found = (await asking.notifications()).notifications.find(entry => entry.id === id) ?? found
  }
  await load(showHistory)
  return outcomeText(found)
}

async function show() {
  const kept = account(), isOther = JSON.stringify(kept) !== JSON.stringify(client?.account ?? null)
  if (isOther) {
    client = kept && new Client(kept)
    missing.clear()
    complain()
    the("sign-in").reset()
    look.cancel()
    forgetPreferences()
    forgetHistory()
    for (const part of ["games-note", "waiting", "others", "devices", "kinds", "history", "signup"]) the(part).replaceChildren()
    document.title = "Turnstone"
    the("revoke").checked = kept?.isOwn
  }
  the("signed-in").hidden = !client
  the("signed-out").hidden = Boolean(client)
  the("who").textContent = client ? text("who", {player: kept.player}) : ""
  if (!client) {
    // Where the server does not answer, the link is the way.
    import("./signup/signup.js").then(({showSignup}) => showSignup()).catch(() => {})
    return
  }
  // What is typed into the preferences stays.
  showMute()
  await meanwhile(() => load(look, showHistory, renewal, ...(isOther ? [showPreferences] : [])))
}

/// Takes the account of a link or a key. Asks before it changes the player.
async function signIn(link) {
  const found = await accountIn(link)
  if (!found) return tell("", text("badLink"))
  const former = account()
  if (former && former.player !== found.player) {
    if (!confirm(text("switch", {from: former.player, to: found.player}))) return
    await leave(new Client(former), former.isOwn)
  }
  try {
    keepAccount(found)
  } catch {
    tell("", text("noStorage"))
  }
}

let tried = null

/// Takes the link out of the address. One that is opened twice is tried, and asks, once.
async function signInByAddress() {
  const link = location.hash
  if (!new URLSearchParams(link.slice(1)).has("key")) return
  history.replaceState(null, "", location.pathname + location.search)
  if (link === tried) return
  tried = link
  await meanwhile(() => signIn(link)).catch(failure => {
    if (!account()) the("link").value = link
    tell("", failureText(failure))
  })
  tried = null
}

/// Removes this browser from the server, and revokes the key if told to. Answers a failure, if there is one.
async function leave(client, isRevoked) {
  const failure = await turnOff(client).catch(failure => failure)
  if (!isRevoked) return failure
  // Browsers compute digests only at addresses with https.
  if (!isSecureContext) return failure ?? new Obstacle("browser.insecure")
  return client.revokeKey().then(() => failure, failure => failure)
}

/// Forgets the key at once: the server may be slow, or silent.
async function signOut() {
  const left = leave(client, the("revoke").checked), status = the("status")
  forgetAccount()
  await show()
  const said = status.textContent = `${text("signedOut.done")} ${text("waiting")}`
  the("main").focus()
  left.then(failure => {
    if (status.textContent === said) status.textContent = text("signedOut.done")
    if (failure) the("problem").append(" ", text("signedOut.left", {why: failureText(failure)}))
  })
}

async function start() {
  the("incomplete").remove()
  tidy()
  showTexts()
  the("home-screen").hidden = !isApple
  the("language").replaceChildren(...Object.entries(languages).map(([value, name]) =>
    make("option", {value, textContent: name, lang: value, selected: value === language})))
  the("language").onchange = async () => {
    want(the("language").value)
    showTexts()
    tell("")
    await Promise.all([show(), load(putLanguage)])
  }
  onClick("turn-on", async client => {
    await turnOn(client)
    await Promise.all([listDevices(client), load(look, putLanguage)])
    return text("browser.on")
  })
  onClick("turn-off", async client => {
    await turnOff(client)
    await listDevices(client)
    return text("browser.off")
  })
  onClick("test", test)
  onClick("history-more", showMore)
  onClick("copy-link", client => {
    client.account.isOwn = the("revoke").checked = false
    keepAccount(client.account)
    return copy(linkOf(client.account))
  })
  onClick("sign-out", signOut)
  onSubmit(the("sign-in"), async () => {
    await signIn(the("link").value)
    const shown = show()
    if (client) the("main").focus()
    await shown
  })
  preparePreferences()
  window.onhashchange = async () => {
    await signInByAddress()
    await show()
  }
  const refresh = () => {
    if (document.hidden) return
    showMute()
    load(look)
  }
  navigator.serviceWorker?.addEventListener("message", () => load(look, showHistory))
  document.onvisibilitychange = refresh
  // The back/forward cache tells a page nothing.
  window.onpageshow = event => event.persisted && show()
  window.onstorage = event => (event.key ?? place).startsWith(place) && show()
  setInterval(refresh, lookEvery)
  await signInByAddress()
  await Promise.all([show(), worker().catch(() => {})])
}

start()
