// The web client of Turnstone: the routes that a player's API key may use. It needs no other file.
// reference/client.html shows what it answers and throws, with examples.

export const version = "1.4.0"

/// An installation's routes are beside its copy of this file.
const home = new URL(".", import.meta.url).href

/// A request that was refused, or got no answer.
export class Failure extends Error {
  /// status: 0 without an answer of Turnstone's. message: the server's sentence, or "". retryAfter: seconds, a text or null.
  constructor(status, message, retryAfter = null) {
    super(message)
    Object.assign(this, {status, retryAfter})
  }
}

let ahead = 0

/// The server's time in milliseconds since 1970: this machine's clock may be wrong.
export const now = () => Date.now() + ahead

/// Asks any route: {body, etag: text or null}. Throws Failure, as everything below does.
export async function ask(method, path, body, headers = {}, base = home) {
  const response = await fetch(new URL(path, base), {
    method, headers: {"Content-Type": "application/json", ...headers},
    body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", signal: AbortSignal.timeout?.(30_000),
  }).catch(() => { throw new Failure(0) })
  const date = Date.parse(response.headers.get("Date")), own = Date.now()
  // What is no JSON, or a refusal without a sentence, is a proxy's or was cut off.
  const answer = await response.json().catch(() => null), error = answer?.error
  if (!response.ok && typeof error === "string") throw new Failure(response.status, error, response.headers.get("Retry-After"))
  if (!response.ok || !answer) throw new Failure(0)
  if (date) ahead = date - own
  return {body: answer, etag: response.headers.get("ETag")}
}

/// A member of an answer. One without it is another server's.
async function member(name, asked) {
  const found = (await asked).body[name]
  if (found === undefined) throw new Failure(0)
  return found
}

/// The account of an API key: {key, player}. 401: nobody has this key.
export async function accountOf(key, base = home) {
  return {key, player: await member("user_id", ask("GET", "api-keys", undefined, {"X-API-Key": key}, base))}
}

const stored = async asked => ({preferences: await member("preferences", asked), etag: (await asked).etag})

const all = async (name, asked) => (await member(name, asked), (await asked).body)

export class Client {
  /// account: {key, player}: an API key and its player's number, as texts. base: where the installation is, with a slash
  /// at the end.
  constructor(account, base = home) {
    Object.assign(this, {account, base, isRefused: false})
  }

  /// As the function `ask`, with the key. After a 401, `isRefused` is true.
  ask(method, path, body, headers) {
    return ask(method, path, body, {"X-API-Key": this.account.key, ...headers}, this.base).catch(failure => {
      this.isRefused ||= failure.status === 401
      throw failure
    })
  }

  /// The player's games.
  diagnostics() {
    return all("monitored_games", this.ask("GET", `diagnostics/${this.account.player}?details=true`))
  }

  devices() {
    return member("data", this.ask("GET", "api/devices"))
  }

  /// What became of notifications, newest first. after: the `next` of the page before.
  notifications(after = null, limit = 20) {
    return all("notifications", this.ask("GET", `api/notifications?limit=${limit}${after ? `&after=${encodeURIComponent(after)}` : ""}`))
  }

  /// Sends a notification to one of the player's devices, or to all, and answers its id. 409: none is reached.
  sendTest(device, language) {
    return member("id", this.ask("POST", "api/notifications/test", {device, language}))
  }

  preferences() {
    return stored(this.ask("GET", "api/preferences"))
  }

  /// Replaces all preferences, and answers as `preferences` does. 412: they have changed since `etag`.
  setPreferences(preferences, etag) {
    return stored(this.ask("PUT", "api/preferences", preferences, etag ? {"If-Match": etag} : {}))
  }

  /// Sets the language of turn notices, such as `de` or `zh-Hans`.
  async setLanguage(language) {
    await member("profile", this.ask("PATCH", "api/profile", {language}))
  }

  /// The key with which a browser subscribes: base64url. 404: the server sends nothing to browsers.
  pushKey() {
    return member("vapid_public_key", this.ask("GET", "api/push/config"))
  }

  /// Registers a PushSubscription and answers its id. name: what lists call it. 409: too many devices.
  register(subscription, name) {
    return member("id", this.ask("POST", "register",
      {user_id: this.account.player, platform: "web", subscription: subscription.toJSON(), device_name: name}))
  }

  /// Removes a device. One that is not there is fine.
  unregister(id) {
    return this.remove(`register/${encodeURIComponent(id)}`, "status")
  }

  /// Revokes the account's own key.
  async revokeKey() {
    // A key's id is the beginning of its SHA-256.
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(this.account.key)))
    const id = Array.from(digest.slice(0, 8), byte => byte.toString(16).padStart(2, "0")).join("")
    await this.remove(`api-keys/${id}`, "revoked")
  }

  /// Deletes what is there. name: a member that the answer must have.
  async remove(path, name) {
    await member(name, this.ask("DELETE", path)).catch(failure => {
      if (failure.status !== 404) throw failure
    })
  }
}
