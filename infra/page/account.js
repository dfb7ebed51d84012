// What this browser keeps: what a service worker needs, in the Cache API, because it cannot read localStorage.

import {accountOf, Failure} from "./turnstone.js"

const recordAddress = new URL("registration", document.baseURI).href

/// Where both are kept: installations may share a host.
export const place = `account${new URL(".", recordAddress).pathname.slice(0, -1)}`

/// {key, player, isOwn}, or null. isOwn: this browser got the key by a signup.
export function account() {
  try {
    return valid(JSON.parse(localStorage.getItem(place)))
  } catch {
    return null
  }
}

/// Throws if the browser keeps nothing for this page.
export const keepAccount = account => localStorage.setItem(place, JSON.stringify(account))

export const forgetAccount = () => localStorage.removeItem(place)

/// The account of a sign-in link or an API key, or null. A link may name only its key's player.
export async function accountIn(link) {
  const part = link.trim().split("#").at(-1)
  const found = new URLSearchParams(isKey(part) ? {key: part} : part), key = found.get("key"), named = found.get("player")?.match(/^\d*/)[0]
  if (!isKey(key) || !named && key !== part) return null
  const {player} = await accountOf(key)
  if (named && named !== player) throw new Failure(403)
  return valid({key, player, isOwn: found.has("own")})
}

/// As infra/invite writes it.
export const linkOf = ({key, player}) => `${location.origin}${location.pathname}#key=${key}&player=${player}`

const isKey = text => /^[0-9a-f]{64}$/.test(text)

const valid = found => isKey(found?.key) && /^[1-9][0-9]{0,18}$/.test(found?.player) ? found : null

/// The account's registration in this browser, or null: {id, endpoint, key, player, name, title, body}. The texts are for a
/// push that cannot be read.
export async function registration(account) {
  try {
    const found = await (await caches.match(recordAddress, {cacheName: place}))?.json()
    return found?.player === account?.player ? found : null
  } catch {
    return null
  }
}

/// Its id is in localStorage, too: other tabs see it change.
const idPlace = `${place} id`

export async function keepRegistration(record) {
  await (await caches.open(place)).put(recordAddress, new Response(JSON.stringify(record)))
  try {
    localStorage[idPlace] = record.id
  } catch {
    // It is full: they see it at their next look.
  }
}

/// At an address without https there is no Cache API.
export async function forgetRegistration() {
  await window.caches?.delete(place)
  delete localStorage[idPlace]
}
