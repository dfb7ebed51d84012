// What the answer of GET /api/status shows.

import {make, the} from "../elements.js"
import {ago, duration, moment, number, table} from "./elements.js"
import {counts, delays} from "./plots.js"

const services = {apns: "APNs", fcm: "FCM", web: "Web Push"}
export const service = name => services[name] ?? name

/// Such as "APNs", or "APNs 2 of 4" if each push service has several queues.
const queueName = ({queue, service: name}) => service(name) + queue.slice(name.length).replace(/^-(\d+)of(\d+)$/, " $1 of $2")

export function show(status) {
    the("when").replaceChildren("as of ", moment(status.at))
    showProblems(status)
    showCycles(status)
    showQueues(status)
    showPushes(status)
    showDevices(status)
}

function showProblems({ready, problems}) {
    the("verdict").className = ready ? "good" : "bad"
    the("verdict").textContent = ready
        ? "Everything works." : problems.length === 1 ? "There is a problem." : `There are ${problems.length} problems.`
    the("problems").replaceChildren(...problems.map(one => make("li", {},
        make("h3", {textContent: one.problem}), make("p", {textContent: one.message}),
        make("p", {}, make("strong", {textContent: "What to do: "}), one.action))))
}

/// Says so in place of everything that was shown in some elements.
function unavailable(name, first, ...others) {
    the(first).replaceChildren(make("p", {className: "bad", textContent: `${name} cannot be read now. The log says why.`}))
    for (const id of others) the(id).replaceChildren()
}

function showCycles({cycles, at}) {
    if (!cycles) return unavailable("The cycles", "cycles", "cycles-note")
    const note = [cycles.lastAt ? `The last one was ${ago(cycles.lastAt, at)}.` : "There was none yet."]
    note.push(`A player is looked at every ${cycles.intervalSeconds} s.`)
    if (cycles.unansweredSince) note.push(`Online-Go.com has answered for none of the known players since ${cycles.unansweredSince}.`)
    the("cycles-note").textContent = note.join(" ")
    the("cycles").replaceChildren(...cycles.last.length === 0 ? [] : [table("Newest first", [
        {title: "Began", value: one => moment(one.at)},
        {title: "Took", number: true, value: one => duration(one.milliseconds)},
        {title: "Due", number: true, value: one => one.due},
        {title: "Looked at", number: true, value: one => one.looked},
        {title: "Unchanged", number: true, value: one => one.unchanged},
        {title: "Notices", number: true, value: one => one.notices},
        {title: "Failed", number: true, value: one => one.failed},
        {title: "Put off", number: true, value: one => one.putOff},
    ], cycles.last)])
}

function stop(queue, at) {
    const said = []
    if (queue.stopped) said.push(`Stopped ${ago(queue.stopped.since, at)}: ${queue.stopped.reason}.`)
    if (queue.failing) said.push(`No answers since ${queue.failing.since}: ${queue.failing.reason}.`)
    if (queue.refusing) said.push(`Refused ${queue.refusing.users} users: ${queue.refusing.reason}.`)
    return said.length > 0 ? make("span", {className: "bad", textContent: said.join(" ")}) : "none"
}

function showQueues({queues, at}) {
    if (!queues) return unavailable("The queues", "queues", "queues-note")
    const some = name => ({number: true, value: queue => queue[name] === 0 ? "0" : (queue.complete ? "" : "≥ ") + number(queue[name])})
    the("queues").replaceChildren(table("Notifications in each", [
        {title: "Queue", value: queueName},
        {title: "Urgent", ...some("urgent")}, {title: "Normal", ...some("normal")}, {title: "Backlog", ...some("backlog")},
        {title: "Bulk", ...some("bulk")}, {title: "Put off", ...some("putOff")}, {title: "Scheduled", ...some("scheduled")},
        {title: "Held", ...some("held")}, {title: "Unreadable", ...some("failed")},
        {title: "Oldest", value: queue => ago(queue.oldestAt, at)},
        {title: "Next due", value: queue => moment(queue.nextAt)},
        {title: "Drainer", value: queue => queue.draining ? "runs" : "idle"},
        {title: "Stops", value: queue => stop(queue, at)},
    ], queues))
    the("queues-note").textContent = queues.every(queue => queue.complete)
        ? "" : "There are too many to count all of them in half a second."
}

function report(element, report) {
    const outcomes = Object.entries(report.total.outcomes)
    const parts = [make("div", {className: "figures"},
        counts("Pushes", report),
        delays("From accepted to sent", report, "medianDelay", "slowDelay"),
        delays("From the move to the push", report, "medianSinceMove", "slowSinceMove"))]
    if (outcomes.length > 0) {
        parts.push(table("Outcomes by push service", [
            {title: "Push service", value: one => service(one.service)},
            ...outcomes.map(([name]) => ({title: name, number: true, value: one => one.outcomes[name] ?? 0})),
            {title: "tried again", number: true, value: one => one.retries},
            {title: "half within", number: true, value: one => duration(one.medianDelay)},
            {title: "95 % within", number: true, value: one => duration(one.slowDelay)},
        ], report.services))
    }
    const reasons = report.services.flatMap(one => one.reasons.map(reason => ({service: one.service, ...reason})))
    if (reasons.length > 0) {
        parts.push(table("Reasons", [
            {title: "Reason", value: one => one.reason}, {title: "Outcome", value: one => one.outcome},
            {title: "Push service", value: one => service(one.service)},
            {title: "Times", number: true, value: one => one.count},
        ], reasons.sort((a, b) => b.count - a.count)))
    }
    element.replaceChildren(...parts)
}

function showPushes({pushes}) {
    if (!pushes) {
        unavailable("The receipts", "month", "pushes-note")
        return unavailable("The receipts", "day")
    }
    const left = pushes.bytesNotCounted
    const note = left ? `The receipts are still being counted: ${number(Math.ceil(left / 1e6))} MB are left. Refresh to go on.`
        : "Some receipts cannot be read, so pushes are missing here. The problems above name the files."
    the("pushes-note").textContent = pushes.complete ? "" : note
    report(the("day"), pushes.day)
    report(the("month"), pushes.month)
}

const platforms = {ios: "iOS", android: "Android", web: "Browser"}
const types = {device: "messages", live_activity: "Live Activity", live_activity_start: "start of Live Activities"}

function showDevices({devices}) {
    if (!devices) return unavailable("The devices", "devices", "devices-note")
    the("devices-note").textContent = `${number(devices.users)} ${devices.users === 1 ? "user" : "users"}. ` + (devices.estimate
        ? `The devices are an estimate from ${number(devices.sample)} of them.` : "")
    the("devices").replaceChildren(...devices.kinds.length === 0 ? [make("p", {textContent: "No devices."})] : [table("By kind", [
        {title: "Platform", value: one => platforms[one.platform] ?? one.platform},
        {title: "For", value: one => types[one.type] ?? one.type},
        {title: "Devices", number: true, value: one => one.count},
        {title: "Quarantined", number: true, value: one => one.quarantined},
        {title: "Disabled", number: true, value: one => one.disabled},
    ], devices.kinds)])
}
