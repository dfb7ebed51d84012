// What the answer of GET /api/status/{user} shows.

import {make} from "../elements.js"
import {duration, moment, number, table} from "./elements.js"
import {service} from "./overview.js"

const whats = {
    accepted: "The push service took it", refused: "Refused", gone: "The device is gone", quarantined: "Token unknown to the push service",
    expired: "Expired", superseded: "Not sent", cancelled: "Cancelled", damaged: "Unreadable", held: "Held", retry: "Failed, tried again",
}
const reasons = {
    unregistered: "the device was no longer the user's", newer: "a newer one replaced it", answered: "the games were answered meanwhile",
    unwanted: "the user does not want this kind", held: "the user does not want it now", delivered: "the same device is listed again, with the outcome",
    unsuitable: "the device cannot show it, and it only replaced older ones",
    released: "nothing of it was left to send", unselected: "the message was no longer meant for the user",
}
const notices = {told: "told", queued: "queued", never: "not wanted when it came", none: "no notice"}

function heading(text) { return make("h3", {textContent: text}) }

/// The parts of the timeline.
export function timeline(found) {
    const {problems = [], unavailable = [], waiting = [], devices = [], turns = []} = found
    const parts = [heading(`User ${found.user}`)]
    if (unavailable.length > 0) {
        parts.push(make("p", {className: "bad", textContent: `Something cannot be read. Missing or incomplete for that: ${unavailable.join(", ")}.`}))
    }
    const known = [...problems, ...found.reasons ?? []]
    parts.push(known.length === 0
        ? make("p", {textContent: "Nothing stands in the way of a push."})
        : make("ul", {className: "reasons"}, ...known.map(one => make("li", {},
            one.message, ...one.action ? [make("br"), make("strong", {textContent: "What to do: "}), one.action] : []))))
    if (found.look) {
        const {look} = found
        parts.push(make("p", {}, "Last look at the games: ", look.at ? moment(look.at) : "never",
            look.games === undefined ? "" : `, ${number(look.games)} active`, look.failures ? `, ${look.failures} failures in a row` : "",
            look.watched ? "." : ". Nobody looks at them now."))
    }
    const queued = waiting.map(one => `${one.what}${one.count ? ` (${one.count})` : ""} for ${service(one.service)}`)
    if (queued.length > 0) parts.push(make("p", {textContent: `In the queues: ${queued.join(", ")}.`}))
    if (devices.length > 0) {
        parts.push(table("Devices", [
            {title: "Id", value: one => one.id.slice(0, 8)}, {title: "Name", value: one => one.deviceName ?? ""},
            {title: "Platform", value: one => one.platform}, {title: "For", value: one => one.tokenType},
            {title: "Registered", value: one => moment(one.updatedAt)}, {title: "Last reached", value: one => moment(one.reachedAt)},
            {title: "State", value: one => one.quarantinedAt ? "quarantined" : one.enabled ? "in use" : "disabled"},
            {title: "Refusals", value: one => one.refused ? `${one.refused.count}: ${one.refused.reason}` : ""},
        ], devices))
    }
    if (turns.length > 0) {
        parts.push(table("Games", [
            {title: "Game", value: one => `${one.game}${one.name ? ` ${one.name}` : ""}`},
            {title: "Player's turn", value: one => one.waits === undefined ? "" : one.waits ? `yes${one.paused ? ", paused" : ""}${one.live ? ", live" : ""}` : "no"},
            {title: "Last move", value: one => moment(one.lastMoveAt)}, {title: "Notice", value: one => notices[one.notice] ?? one.notice},
        ], turns))
    }
    return parts
}

/// The rows of the receipts, newest first.
export function events(found) {
    if (!found.events) return make("p", {className: "bad", textContent: "The receipts cannot be read now."})
    if (found.events.length === 0) {
        return make("p", {textContent: found.stopped
            ? "The receipts that could be read in time name no push to this user." : "The receipts name no push to this user."})
    }
    return table("What the receipts say, newest first", [
        {title: "When", value: one => moment(one.at)},
        {title: "Kind", value: one => one.kind ?? ""},
        {title: "What", value: one => `${whats[one.what] ?? one.what}${one.inDoubt ? ", but an earlier attempt may have arrived" : ""}`},
        {title: "Why", value: one => one.reason ? `${reasons[one.reason] ?? one.reason}${one.status ? ` (${one.status})` : ""}` : ""},
        {title: "Device", value: one => one.device?.slice(0, 8) ?? ""}, {title: "Push service", value: one => service(one.service)},
        {title: "Took", number: true, value: one => duration(one.delay)},
        {title: "Since the move", number: true, value: one => duration(one.sinceMove)},
        {title: "Notification", value: one => one.id?.slice(0, 8) ?? ""},
    ], found.events)
}
