// A client of the routes that a player's API key may use.

/// Routes are beside this file, so it works below a prefix too.
const home = new URL(".", import.meta.url)

/// A request that was refused (`status`), or that got no answer (`status` 0).
export class Failure extends Error {
  constructor(status, sentence, retryAfter) {
    super(sentence)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/// Answers {body, etag}. Throws Failure.
export async function ask(method, path, body, headers = {}) {
  const response = await fetch(new URL(path, home), {
    method, headers: {"Content-Type": "application/json", ...headers},
    body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
  }).catch(() => { throw new Failure(0, "") })
  // An answer of something in between has no JSON. Its status says enough.
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new Failure(response.status, String(answer?.error ?? ""), response.headers.get("Retry-After"))
  return {body: answer, etag: response.headers.get("ETag")}
}

export class Client {
  /// account: {key, player}: an API key and the number of the player to whom it belongs.
  constructor(account) {
    this.account = account
  }

  /// As the function `ask`, with the key.
  ask(method, path, body, headers) {
    return ask(method, path, body, {"X-API-Key": this.account.key, ...headers})
  }

  /// The player's games, each with `opponent`, `expiration` and `board`.
  async diagnostics() {
    return (await this.ask("GET", `diagnostics/${this.account.player}?details=true`)).body
  }

  /// The player's devices: [{id, platform, deviceName, createdAt, updatedAt, reachedAt}].
  async devices() {
    return (await this.ask("GET", "api/devices")).body.data
  }

  /// What became of notifications, newest first: {notifications, next, stopped}. after: the `next` of the page before.
  async notifications(after = null, limit = 20) {
    return (await this.ask("GET", `api/notifications?limit=${limit}${after ? `&after=${encodeURIComponent(after)}` : ""}`)).body
  }

  /// Sends a notification to one of the player's devices now, and answers its id.
  async sendTest(device, language) {
    return (await this.ask("POST", "api/notifications/test", {device, language})).body.id
  }

  /// Answers {preferences, etag}.
  async preferences() {
    const {body, etag} = await this.ask("GET", "api/preferences")
    return {preferences: body.preferences, etag}
  }

  /// Replaces the preferences, unless they have changed since `etag` (Failure with status 412).
  async setPreferences(preferences, etag) {
    const answer = await this.ask("PUT", "api/preferences", preferences, etag ? {"If-Match": etag} : {})
    return {preferences: answer.body.preferences, etag: answer.etag}
  }

  /// The key with which a browser subscribes.
  async pushKey() {
    return (await this.ask("GET", "api/push/config")).body.vapid_public_key
  }

  /// Registers this browser's subscription, and answers its id. name: what lists call it.
  async register(subscription, name) {
    const {body} = await this.ask("POST", "register",
      {user_id: this.account.player, platform: "web", subscription: subscription.toJSON(), device_name: name})
    return body.id
  }

  /// Removes a device. One that is not there is fine.
  unregister(id) {
    return this.remove(`register/${encodeURIComponent(id)}`)
  }

  /// Revokes the account's own key, in all places that use it.
  async revokeKey() {
    // A key's id is the beginning of its SHA-256.
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(this.account.key)))
    const id = Array.from(digest.slice(0, 8), byte => byte.toString(16).padStart(2, "0")).join("")
    await this.remove(`api-keys/${id}`)
  }

  /// Deletes what a path names, if it is there.
  async remove(path) {
    await this.ask("DELETE", path).catch(failure => {
      if (failure.status !== 404) throw failure
    })
  }
}
