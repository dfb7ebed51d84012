// Notifications in this browser: whether they are on, on and off, and why not.

import {account, forgetRegistration, keepRegistration, registration} from "./account.js"
import {Obstacle, text} from "./texts.js"
import {Failure} from "./turnstone.js"

/// An iPad may call itself a Mac, which has no touch screen.
export const isApple = /iPhone|iPad|iPod/.test(navigator.userAgent) || (/Mac/.test(navigator.platform) && navigator.maxTouchPoints > 1)

/// Why this browser cannot show pushes: the name of a text, or null.
export function obstacle() {
  if (!isSecureContext) return "browser.insecure"
  if (isApple && !navigator.standalone && !("PushManager" in window)) return "browser.homeScreen"
  // Firefox hides service workers in private windows.
  if (!("serviceWorker" in navigator)) return "browser.private"
  if (!("PushManager" in window) || !("Notification" in window)) return "browser.unsupported"
  if (Notification.permission === "denied") return "browser.denied"
  return null
}

/// With it the page also opens offline.
export async function worker() {
  try {
    return await inTime(installed())
  } catch (error) {
    const isRefused = error.name === "SecurityError"
    if (isRefused && navigator.userAgent.includes("Firefox")) throw new Obstacle("browser.private")
    // Other browsers refuse only a portal's file. AbortError: a file is late.
    throw isRefused || error.name === "AbortError" ? new Failure(0) : error
  }
}

async function installed() {
  const {active, waiting, installing} = await navigator.serviceWorker.register("worker.js", {updateViaCache: "none"})
  // A worker whose files do not arrive is dropped, and none becomes ready.
  if (!active && !waiting) await new Promise((done, fail) => {
    const look = () => {
      if (!installing || installing.state === "redundant") fail(new Failure(0))
      else if (installing.state !== "installing") done()
    }
    look()
    installing?.addEventListener("statechange", look)
  })
  return navigator.serviceWorker.ready
}

/// Whether the subscription is the player's registered one.
export async function isOn() {
  const record = await registration(account()), own = record && obstacle() === null && await subscribed()
  return own && (record.endpoint ?? own.endpoint) === own.endpoint
}

/// This page's own: the browser would give that of the root, too.
async function subscribed() {
  const found = await navigator.serviceWorker.getRegistration()
  return found?.scope === new URL(".", location).href ? found.pushManager?.getSubscription() : null
}

/// Call it first thing in a click.
export async function turnOn(client) {
  const reason = obstacle()
  if (reason) throw new Obstacle(reason)
  const permission = await Notification.requestPermission()
  if (permission !== "granted") throw new Obstacle(`browser.${permission === "denied" ? "denied" : "dismissed"}`)
  await inTurn(() => subscribe(client))
}

/// Registers again. Answers whether the device has another id now.
export const renew = client => inTurn(async () => obstacle() === null && await registration(client.account) && await subscribed() && subscribe(client))

/// The player's devices, and this browser's registration, unless it was removed elsewhere: a renewal would undo that.
export const listed = client => inTurn(async () => {
  const devices = await client.devices(), own = await registration(client.account)
  if (own && !devices.some(({id}) => id === own.id)) await forget()
  return [devices, own]
})

/// What touches the subscription or its record: in order, also of other tabs and the worker.
const inTurn = work => navigator.locks ? navigator.locks.request("subscription", work) : work()

async function subscribe(client) {
  // The question may be answered after a sign-out.
  if (account()?.key !== client.account.key) throw new Obstacle("browser.off")
  const key = await client.pushKey().catch(failure => {
    throw failure.status === 404 ? new Obstacle("browser.serverOff") : failure
  })
  const {pushManager} = await worker()
  let subscription = await pushManager.getSubscription()
  const former = subscription?.options?.applicationServerKey
  try {
    if (former && base64url(former) !== key) {
      await end(subscription)
      subscription = null
    }
    subscription ??= await inTime(pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key}))
  } catch (error) {
    // AbortError: it reaches no push service.
    throw new Obstacle(`browser.${{NotAllowedError: "denied", AbortError: "noService"}[error.name] ?? "unsupported"}`)
  }
  const earlier = await registration(client.account), name = browserName()
  const leave = async () => earlier && client.unregister(earlier.id)
  let id
  try {
    id = await client.register(subscription, name).catch(async failure => {
      if (failure.status !== 409) throw failure
      // Too many devices: the former makes room.
      await leave()
      return client.register(subscription, name)
    })
    const {endpoint} = subscription
    await keepRegistration({...client.account, id, endpoint, name, title: "Turnstone", body: text("push.body")})
  } catch (failure) {
    // A former one is tried again.
    if (!earlier) await end(subscription).catch(() => {})
    throw failure.status === 409 ? new Obstacle("failure.tooMany") : failure
  }
  // Another id names a subscription that is no more.
  if (earlier?.id !== id) await leave()
  return earlier?.id !== id
}

/// Such as "Firefox, Linux". Newer browsers name older ones, too.
function browserName() {
  const find = names => names.find(([part]) => navigator.userAgent.includes(part))?.at(-1)
  return [find([["Edg", "Edge"], ["OPR", "Opera"], ["Firefox"], ["Chrome"], ["Safari"]]),
    find([["Android"], ["iPhone"], ["iPad"], ["Windows"], ["Mac OS"], ["CrOS", "ChromeOS"], ["Linux"]])].filter(Boolean).join(", ")
}

const end = it => inTime(it.unsubscribe())

/// Browsers may wait for minutes.
function inTime(promise) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new DOMException("no answer", "AbortError")), 20_000))
  return Promise.race([promise, late])
}

/// Removes the player's registration and subscription at once, and again after a renewal under way. If the server cannot be
/// reached, the push service tells it later.
export async function turnOff(client) {
  const remove = async () => {
    const own = await registration(client.account)
    if (own) await forget()
    return own
  }
  const atOnce = remove()
  navigator.clearAppBadge?.().catch(() => {})
  await inTurn(async () => {
    const gone = [await atOnce, await remove()]
    // A tab that was closed during a renewal leaves something.
    await clear()
    for (const own of gone) if (own) await client.unregister(own.id)
  })
}

/// Removes what is not the player's, or has no record.
const clear = async () => await registration(account()) || forget()

export const tidy = () => inTurn(clear).catch(() => {})

/// A subscription that stays is left to `tidy`.
async function forget() {
  await forgetRegistration()
  await subscribed().then(own => own && end(own)).catch(() => {})
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/// Copies a text, or shows it to be copied.
export async function copy(value) {
  try {
    await navigator.clipboard.writeText(value)
    return text("copy.done")
  } catch {
    prompt(text("copy.copy"), value)
  }
}
