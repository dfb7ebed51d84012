// What this browser keeps. The page's part is in localStorage. A service worker cannot read that, so what it
// needs to renew a subscription is in the Cache API while notifications are on.

const recordAddress = new URL("registration", document.baseURI).href

/// {key, player}, or null.
export function account() {
  try {
    const kept = JSON.parse(localStorage.getItem("account"))
    return isAccount(kept) ? kept : null
  } catch {
    return null
  }
}

/// Throws if the browser keeps nothing for this page.
export function keepAccount({key, player}) {
  localStorage.setItem("account", JSON.stringify({key, player}))
}

export function forgetAccount() {
  localStorage.removeItem("account")
}

/// Reads `#key=…&player=…`, and takes it out of the address and the history's entry.
export function accountInAddress() {
  const found = new URLSearchParams(location.hash.slice(1))
  if (!found.has("key")) return null
  history.replaceState(null, "", location.pathname + location.search)
  const read = {key: found.get("key"), player: found.get("player")}
  return isAccount(read) ? read : undefined
}

function isAccount(value) {
  return /^[0-9a-f]{64}$/.test(value?.key) && /^[1-9][0-9]{0,18}$/.test(value?.player)
}

/// This browser's registration: {id, key, player, title, body}, or null. The texts are for a push that cannot be
/// read.
export async function registration() {
  try {
    const kept = await (await caches.open("account")).match(recordAddress)
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
