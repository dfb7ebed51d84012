// Tables and times, for the parts of the operator's page.

import {make, plain} from "../elements.js"

const numbers = new Intl.NumberFormat("en")

/// A whole number, such as 12,345.
export const number = value => numbers.format(value)

/// A moment in the reader's own time zone; "" for none.
export function moment(text) {
    const time = text ? new Date(text) : null
    if (!time || Number.isNaN(time.getTime())) return ""
    const element = make("time", {dateTime: text, title: text})
    element.textContent = time.toLocaleString("en-GB", {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit"})
    return element
}

/// A length of time in words: 0.5 s, 10 s, 2 min, 6 h.
export function duration(milliseconds) {
    if (milliseconds === undefined || milliseconds === null) return ""
    if (milliseconds < 1000) return `${milliseconds / 1000} s`
    const seconds = milliseconds / 1000
    if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`
    if (seconds < 3600) return `${Math.round(seconds / 6) / 10} min`
    return `${Math.round(seconds / 360) / 10} h`
}

/// How long ago a moment was, by the server's clock.
export function ago(text, now) {
    return text ? `${duration(Math.max(0, new Date(now) - new Date(text)))} ago` : ""
}

/// A table, which scrolls by itself where it is too wide. Each column is {title, value: row => text, number or element, number?: whether to align it right}.
export function table(caption, columns, rows) {
    const head = make("tr", {}, ...columns.map(one => make("th", {scope: "col", className: one.number ? "number" : "", textContent: one.title})))
    const body = rows.map(row => make("tr", {}, ...columns.map((one, place) => {
        const cell = make(place === 0 ? "th" : "td", {className: one.number ? "number" : ""})
        if (place === 0) cell.scope = "row"
        const value = one.value(row)
        cell.append(typeof value === "number" ? number(value) : plain(value ?? ""))
        return cell
    })))
    const shown = make("table", {}, make("caption", {textContent: caption}), make("thead", {}, head), make("tbody", {}, ...body))
    // What may have to be scrolled must be reached with the keyboard.
    return make("div", {className: "wide", tabIndex: 0, role: "group", ariaLabel: caption}, shown)
}
