// Notifications in this browser: whether they are on, on and off, and why not.

import {account, forgetRegistration, keepRegistration, registration} from "./account.js"
import {Obstacle, text} from "./texts.js"

/// An iPad may call itself a Mac, which has no touch screen.
export const isApple = /iPhone|iPad|iPod/.test(navigator.userAgent) || (/Mac/.test(navigator.platform) && navigator.maxTouchPoints > 1)

/// Why this browser cannot show pushes: the name of a text, or null.
export function obstacle() {
  if (!window.isSecureContext) return "browser.insecure"
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
    await navigator.serviceWorker.register("worker.js", {updateViaCache: "none"})
  } catch (error) {
    throw new Obstacle(`browser.${error.name === "SecurityError" ? "private" : "unsupported"}`)
  }
  return navigator.serviceWorker.ready
}

/// Whether the subscription is the player's registered one. A new one may have been refused.
export async function isOn() {
  const record = await registration(), own = record && record.player === account()?.player && obstacle() === null && await subscribed()
  return Boolean(own) && (record.endpoint ?? own.endpoint) === own.endpoint
}

/// This page's own: the browser would give that of the root, too.
async function subscribed() {
  const found = await navigator.serviceWorker?.getRegistration()
  return found?.scope === new URL(".", location).href ? found.pushManager?.getSubscription() : null
}

/// Asks for permission, so it must be called first thing in a click.
export async function turnOn(client) {
  const reason = obstacle()
  if (reason) throw new Obstacle(reason)
  const permission = await Notification.requestPermission()
  if (permission !== "granted") throw new Obstacle(`browser.${permission === "denied" ? "denied" : "dismissed"}`)
  await inTurn(() => subscribe(client))
}

/// Registers again. Answers whether the device has another id now.
export const renew = client => inTurn(async () => obstacle() === null && (await registration())?.player === client.account.player
  && await subscribed() && subscribe(client))

/// The player's devices. A browser that was removed elsewhere forgets its registration: a renewal would undo that.
export const listed = client => inTurn(async () => {
  const devices = await client.devices(), own = await registration()
  if (own?.player === client.account.player && !devices.some(({id}) => id === own.id)) await forget()
  return devices
})

/// One at a time, also of other tabs and the worker: a renewal under way would subscribe again after turnOff.
const inTurn = work => navigator.locks ? navigator.locks.request("subscription", work) : work()

async function subscribe(client) {
  // The browser's question may be answered after a sign-out.
  if (account()?.key !== client.account.key) throw new Obstacle("browser.off")
  const key = await client.pushKey().catch(failure => {
    throw failure.status === 404 ? new Obstacle("browser.serverOff") : failure
  })
  const {pushManager} = await worker()
  let subscription = await pushManager.getSubscription()
  const former = subscription?.options?.applicationServerKey
  if (former && base64url(former) !== key) {
    await subscription.unsubscribe()
    subscription = null
  }
  try {
    subscription ??= await inTime(pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key}))
  } catch (error) {
    // AbortError: it reaches no push service.
    throw new Obstacle(`browser.${{NotAllowedError: "denied", AbortError: "noService"}[error.name] ?? "unsupported"}`)
  }
  const earlier = await registration(), name = browserName()
  const leave = async () => earlier?.player === client.account.player && client.unregister(earlier.id)
  let id
  try {
    id = await client.register(subscription, name).catch(async failure => {
      if (failure.status !== 409) throw failure
      // Too many devices: the former one makes room.
      await leave()
      return client.register(subscription, name)
    })
    const {endpoint} = subscription
    await keepRegistration({...client.account, id, endpoint, name, title: "Turnstone", body: text("push.body")})
  } catch (failure) {
    // One that was registered before is tried again.
    if (!earlier) await subscription.unsubscribe().catch(() => {})
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

/// Chromium may wait for minutes.
function inTime(promise) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new DOMException("no answer", "AbortError")), 20_000))
  return Promise.race([promise, late])
}

/// Removes the registration and the subscription, now and after a renewal that is under way. If the server cannot be
/// reached, the push service tells it later.
export async function turnOff(client) {
  const record = await registration()
  await forget()
  await navigator.clearAppBadge?.().catch(() => {})
  await inTurn(async () => {
    const renewed = await registration()
    await forget()
    for (const own of [record, renewed]) if (own) await client.unregister(own.id)
  })
}

/// Removes what is not the player's: a sign-out was cut off.
export const tidy = () => inTurn(async () => {
  const record = await registration()
  if (record && record.player !== account()?.player) await forget()
})

async function forget() {
  await forgetRegistration()
  await (await subscribed())?.unsubscribe()
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
