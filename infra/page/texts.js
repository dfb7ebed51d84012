// The page's texts in the player's language.

import phrases from "./phrases.js"
import {now} from "./turnstone.js"

export const languages = {en: "English", de: "Deutsch", fr: "Français", ja: "日本語", ko: "한국어", "zh-Hans": "简体中文"}

const table = new Map(phrases.split("\n\n").map(block => block.split("\n")).map(([name, ...texts]) => [name, texts]))

export let language = "en"

let storage = {}
try {
  storage = localStorage
} catch {
  // A choice holds until the page is closed.
}

export function want(name) {
  try {
    storage.language = name
  } catch {
    // It is full.
    storage = {language: name}
  }
}

const base = name => name.split("-")[0]

/// The wanted language, else the first of the browser's that is known.
const choose = () => [storage.language ?? "", ...navigator.languages, "en"]
  .map(name => Object.keys(languages).find(one => base(one) === base(name))).find(Boolean)

export function showTexts() {
  language = choose()
  document.documentElement.lang = language
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text)
  for (const part of document.querySelectorAll("section")) part.ariaLabel = part.querySelector("h2")?.textContent ?? null
}

/// A text, such as `games.title`, with `{name}` replaced by the value of that name.
export function text(name, values = {}) {
  return table.get(name)[Object.keys(languages).indexOf(language)].replace(/\{(\w+)\}/g, (_, value) => values[value])
}

/// A newer server may know more words than this page.
export const known = (name, otherwise) => table.has(name) ? text(name) : otherwise

/// "3 hours ago", for milliseconds since 1970.
export const ago = milliseconds => relative(Math.min(0, milliseconds - now()))

export const inTime = milliseconds => relative(Math.max(0, milliseconds - now()))

function relative(milliseconds) {
  const seconds = milliseconds / 1000
  const [size, unit] = [[86400, "day"], [3600, "hour"], [60, "minute"]].find(([size]) => Math.abs(seconds) >= size) ?? [1, "second"]
  return new Intl.RelativeTimeFormat(language, {numeric: "auto"}).format(Math.trunc(seconds / size), unit)
}

export const moment = date => new Intl.DateTimeFormat(language, {dateStyle: "medium", timeStyle: "short"}).format(date)

/// Something in the way that the player can mend: the name of a text.
export class Obstacle extends Error {}

/// A failure of the client or the browser in words, with the server's own sentence where it says more.
export function failureText(failure) {
  const {message} = failure
  if (failure instanceof Obstacle) return text(message)
  // Another server's answer may be anything.
  const status = failure instanceof TypeError ? 0 : failure.status
  if (status === 409) return text("outcome.gone")
  const known = {0: "offline", 401: "key", 403: "key", 412: "changed", 422: "refused", 429: "tooOften", 503: "busy"}
  if (status in known) return text(`failure.${known[status]}`, {why: message})
  return text("failure.other", {why: status ? `${status} ${message}` : message})
}
