// Shows pushes, opens what a click asks for, renews a subscription that the browser changed, and keeps the page's
// files for a start without a network. It is no module: not all browsers run those.

const {scope} = registration
/// Installations may share a host.
const path = new URL(scope).pathname.slice(0, -1)
const shell = `shell-12${path}`, accounts = `account${path}`
const files = ["./", "style.css", "app.webmanifest", "icon.svg", "icon-192.png", "page.js", "turnstone.js", "account.js", "texts.js",
  "phrases.js", "browser.js", "elements.js", "games.js", "board.js", "devices.js", "history.js", "preferences.js"].map(name => new URL(name, scope).href)
const recordAddress = new URL("registration", scope).href

/// A portal or a maintenance page may answer 200, too.
const isOwn = response => response.ok && response.headers.has("Content-Security-Policy")

addEventListener("install", event => {
  event.waitUntil((async () => {
    const cache = await caches.open(shell)
    await Promise.all(files.map(async file => {
      const response = await fetch(file)
      if (!isOwn(response)) throw new TypeError(`${file} is not the page's`)
      await cache.put(file, response)
    }))
    await skipWaiting()
  })())
})

addEventListener("activate", event => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name !== shell && name.replace(/-\d+/, "") === `shell${path}`) await caches.delete(name)
    await clients.claim()
  })())
})

// The network comes first, so an upgrade is seen at once. A silent server is waited for once, not for each file.
let patience = 5000
addEventListener("fetch", event => {
  const address = event.request.url.replace(/[?#].*$/, "")
  if (event.request.method !== "GET" || !files.includes(address)) return
  event.respondWith((async () => {
    const cache = await caches.open(shell), kept = await cache.match(address)
    const asked = fetch(event.request, {signal: AbortSignal.timeout?.(30_000)}).then(async response => {
      if (response.type === "opaqueredirect") return response
      // The whole of it: a body may be cut off, or stop.
      const whole = new Response(await response.blob(), response)
      patience = 5000
      if (isOwn(response)) event.waitUntil(cache.put(address, whole.clone()))
      // A portal's may be a page, but no part of this one.
      const isPage = event.request.mode === "navigate" && response.status < 500
      return isOwn(response) || isPage || !kept ? whole : kept
    }).catch(() => kept ?? Response.error())
    // A late file is for the next start.
    event.waitUntil(asked)
    const found = await Promise.race([asked, new Promise(done => setTimeout(done, patience))])
    if (!found) patience = 0
    return found ?? kept ?? asked
  })())
})

const record = async () => (await caches.match(recordAddress, {cacheName: accounts}))?.json()

// ### Pushes

/// Reads a declarative message (W3C Push API, section 3.3). Browsers take the permission back if a push shows
/// nothing, so one without a title gets the page's text.
async function read(data) {
  let message
  try {
    message = data.json()
  } catch {
    // There is no title.
  }
  const found = {app_badge: message?.app_badge, ...message?.notification}
  if (isText(found.title) && found.title !== "") return found
  const kept = await record().catch(() => null)
  return {...found, title: kept?.title ?? "Turnstone", body: kept?.body ?? ""}
}

const isText = value => typeof value === "string"

const options = found => ({icon: "icon-192.png", ...found, data: {navigate: found.navigate, actions: found.actions}})

addEventListener("push", event => {
  event.waitUntil((async () => {
    const found = await read(event.data)
    const all = options(found), sound = value => isText(value) ? value : undefined
    // Browsers refuse malformed options: then only the text, tag and address remain.
    await registration.showNotification(found.title, all)
      .catch(() => registration.showNotification(found.title, {body: sound(found.body), tag: sound(found.tag), data: all.data}))
    const badge = found.app_badge
    if (Number.isInteger(badge) && badge >= 0) await navigator.setAppBadge?.(badge).catch(() => {})
    for (const page of await clients.matchAll()) page.postMessage("pushed")
  })())
})

/// Only web addresses are opened, or the page.
function target(address) {
  try {
    const url = new URL(isText(address) ? address : "", scope)
    if (url.protocol === "https:" || url.origin === location.origin) return url.href
  } catch {
    // Handled below.
  }
  return scope
}

addEventListener("notificationclick", event => {
  event.notification.close()
  const kept = event.notification.data ?? {}
  const chosen = Array.isArray(kept.actions) ? kept.actions.find(one => one?.action === event.action)?.navigate : null
  const address = target(chosen ?? kept.navigate)
  event.waitUntil((async () => {
    const pages = await clients.matchAll({type: "window", includeUncontrolled: true})
    const open = pages.find(page => page.url.replace(/#.*$/, "") === address.replace(/#.*$/, ""))
    await (open ? open.focus() : clients.openWindow(address))
  })())
})

// ### Renewal

const ask = (account, method, path, body) => fetch(new URL(path, scope), {
  method, credentials: "omit", headers: {"X-API-Key": account.key, "Content-Type": "application/json"},
  body: body && JSON.stringify(body), signal: AbortSignal.timeout?.(30_000),
})

/// See browser.js.
const inTurn = work => navigator.locks ? navigator.locks.request("subscription", work) : work()

addEventListener("pushsubscriptionchange", event => {
  event.waitUntil(inTurn(async () => {
    const kept = await record()
    if (!kept) return
    let subscription = event.newSubscription ?? await registration.pushManager.getSubscription()
    if (!subscription) {
      const {vapid_public_key} = await (await ask(kept, "GET", "api/push/config")).json()
      subscription = await registration.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: vapid_public_key})
    }
    const register = () => ask(kept, "POST", "register",
      {user_id: kept.player, platform: "web", subscription: subscription.toJSON(), device_name: kept.name})
    const remove = () => ask(kept, "DELETE", `register/${encodeURIComponent(kept.id)}`)
    let answer = await register()
    if (answer.status === 409) {
      // Too many devices: the former one makes room.
      await remove()
      answer = await register()
    }
    const {id} = answer.ok ? await answer.json() : {}
    if (!id) return  // the page registers again when it is opened
    await (await caches.open(accounts)).put(recordAddress, new Response(JSON.stringify({...kept, id, endpoint: subscription.endpoint})))
    if (id !== kept.id) await remove()
  }))
})
