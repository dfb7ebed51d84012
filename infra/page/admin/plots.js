// Plots as SVG. Each has its numbers in a table below it, for those who do not see it.

import {make} from "../elements.js"
import {duration, number, table} from "./elements.js"

const space = "http://www.w3.org/2000/svg"
const width = 480, height = 180, left = 48, bottom = 22, top = 8
const inner = {width: width - left - 6, height: height - bottom - top}

function draw(name, attributes = {}, ...children) {
    const element = document.createElementNS(space, name)
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
    element.append(...children)
    return element
}

const x = (place, count) => left + inner.width * place / count

function frame(label, steps, marks, y) {
    const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label})
    for (const mark of marks) {
        svg.append(
            draw("line", {class: "axis", x1: left, x2: width - 6, y1: y(mark.value), y2: y(mark.value)}),
            draw("text", {x: left - 4, y: y(mark.value) + 4, "text-anchor": "end"}, mark.text))
    }
    const every = Math.ceil(steps.length / 6)
    steps.forEach((step, place) => {
        if (place % every !== 0) return
        svg.append(draw("text", {x: x(place + 0.5, steps.length), y: height - 6, "text-anchor": "middle"}, stepText(step, steps)))
    })
    return svg
}

function stepText(step, steps) {
    const time = new Date(step.from)
    return steps.length === 24
        ? time.toLocaleTimeString("en-GB", {hour: "2-digit", minute: "2-digit"})
        : time.toLocaleDateString("en-GB", {day: "numeric", month: "short", timeZone: "UTC"})
}

/// 1, 2, 5, 10, 20, …: not less than a number.
function round(most) {
    let power = 1
    while (power * 10 < most) power *= 10
    return [1, 2, 5, 10].map(one => one * power).find(one => one >= most) ?? 1
}

function legend(...entries) {
    return make("ul", {className: "legend"}, ...entries.map(([kind, text]) => {
        const sample = kind.startsWith("line")
            ? draw("line", {class: kind, x1: 0, x2: 18, y1: 6, y2: 6})
            : draw("rect", {class: kind, width: 12, height: 12})
        return make("li", {}, draw("svg", {viewBox: "0 0 18 12", "aria-hidden": "true"}, sample), text)
    }))
}

function figure(title, svg, key, numbers) {
    return make("figure", {}, make("figcaption", {textContent: title}), svg, key,
        make("details", {}, make("summary", {textContent: "As a table"}), numbers))
}

const time = {title: "From", value: step => step.from.replace("T", " ").replace(/:00Z$/, " UTC")}

/// How many pushes were accepted, failed and were dropped in each step.
export function counts(title, {steps, total}) {
    const kinds = ["accepted", "failed", "dropped"]
    const most = round(Math.max(1, ...steps.map(step => kinds.reduce((sum, kind) => sum + step[kind], 0))))
    const y = value => top + inner.height * (1 - value / most)
    const svg = frame(
        `${title}: ${number(total.accepted)} accepted, ${number(total.failed)} failed, ${number(total.dropped)} dropped. The table has each step.`,
        steps, [0, most / 2, most].filter(Number.isInteger).map(value => ({value, text: number(value)})), y)
    steps.forEach((step, place) => {
        let from = 0
        for (const kind of kinds) {
            if (step[kind] === 0) continue
            svg.append(draw("rect", {
                class: kind, x: x(place + 0.1, steps.length), width: inner.width / steps.length * 0.8,
                y: y(from + step[kind]), height: Math.max(1, y(from) - y(from + step[kind])),
            }))
            from += step[kind]
        }
    })
    return figure(title, svg, legend(["accepted", "accepted"], ["failed", "failed"], ["dropped", "dropped: no longer true or wanted"]),
        table(title, [time, ...kinds.map(kind => ({title: kind, number: true, value: step => step[kind]})),
            {title: "tried again", number: true, value: step => step.retries}], steps))
}

const marks = [1000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000]

/// How long accepted pushes took in each step: the ends of the ranges with the median and the 95th percentile.
export function delays(title, {steps, total}, median, slow) {
    const most = Math.max(10_000, ...steps.map(step => step[slow] ?? 0))
    const scale = value => Math.log(Math.max(value, 500) / 500) / Math.log(most / 500)
    const y = value => top + inner.height * (1 - scale(value))
    const said = total[median] === undefined
        ? "no pushes" : `half within ${duration(total[median])}, 95 % within ${duration(total[slow]) || "more than a day"}`
    const svg = frame(`${title}: ${said}. The table has each step.`, steps,
        marks.filter(value => value <= most).map(value => ({value, text: duration(value)})), y)
    for (const [kind, member] of [["slow", slow], ["median", median]]) {
        let path = ""
        steps.forEach((step, place) => {
            const value = step[member]
            if (value === undefined) return
            const at = [x(place + 0.5, steps.length).toFixed(1), y(value).toFixed(1)]
            path += `${path && steps[place - 1]?.[member] !== undefined ? "L" : "M"}${at} `
            svg.append(draw("circle", {class: `dot-${kind}`, cx: at[0], cy: at[1], r: 2.5}))
        })
        if (path) svg.append(draw("path", {class: `line ${kind}`, d: path.trim()}))
    }
    return figure(title, svg, legend(["line median", "half of them within"], ["line slow", "95 % within"]),
        table(title, [time, {title: "half within", number: true, value: step => duration(step[median])},
            {title: "95 % within", number: true, value: step => duration(step[slow])}], steps))
}
