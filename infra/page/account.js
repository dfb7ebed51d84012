// What this browser keeps. The page's part is in localStorage. A service worker cannot read that, so what it
// needs to renew a subscription is in the Cache API while notifications are on.

import {accountOf} from "./turnstone.js"

const recordAddress = new URL("registration", document.baseURI).href

/// {key, player, isOwn}, or null. isOwn: this browser got the key by a signup, so no other one has it.
export function account() {
  try {
    return valid(JSON.parse(localStorage.getItem("account")))
  } catch {
    return null
  }
}

/// Throws if the browser keeps nothing for this page.
export const keepAccount = account => localStorage.setItem("account", JSON.stringify(account))

export const forgetAccount = () => localStorage.removeItem("account")

/// The account of a sign-in link or an API key, or null.
export async function accountIn(link) {
  const part = link.trim().split("#").at(-1)
  if (isKey(part)) return valid(await accountOf(part))
  const found = new URLSearchParams(part)
  return valid({key: found.get("key"), player: found.get("player"), isOwn: found.has("own")})
}

/// As infra/invite writes it.
export const linkOf = ({key, player}) => `${location.origin}${location.pathname}#key=${key}&player=${player}`

const isKey = text => /^[0-9a-f]{64}$/.test(text)

const valid = found => isKey(found?.key) && /^[1-9][0-9]{0,18}$/.test(found?.player) ? found : null

/// This browser's registration: {id, key, player, title, body}, or null. The texts are for a push that cannot be
/// read.
export async function registration() {
  try {
    const kept = await caches.match(recordAddress, {cacheName: "account"})
    return kept ? await kept.json() : null
  } catch {
    return null
  }
}

export async function keepRegistration(record) {
  await (await caches.open("account")).put(recordAddress, new Response(JSON.stringify(record)))
}

export async function forgetRegistration() {
  if ("caches" in window) await caches.delete("account")
}
