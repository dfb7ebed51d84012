import JSON
import Turnstone
import Unix

/// A scheduled program's surroundings.
package struct Schedule {
    package let time: Timestamp
    package let variables: Variables
    package let log: Log
}

/// Does the job that a timer started this process for, prints its summary as one line of JSON without zeros, and
/// exits (a timer that had no work for it gets no line): 0, 111 when it may work later, 100 when it will fail again until somebody acts.
///
/// Standard input is empty, `{}`, or a scheduler's event, also where a watchdog brings it to `/`; a request gets 404
/// through its front, as it would from a path where nothing is.
///
/// - Parameter purpose: what the program does, for `--help`.
package func run(
    _ purpose: String, _ job: (Schedule) throws(Failure) -> JSONObject
) -> Never {
    ThisProcess.begin()
    Usage(scheduled: purpose).answerArguments()
    let log = Log()
    let isAsked = refuseRequests(log)
    do throws(Failure) {
        let variables = try Environment.variables()
        try becomeOwner(ofStateIn: variables, log)
        let schedule = Schedule(
            time: try Environment.now(variables), variables: variables, log: log)
        var summary = JSONObject()
        for member in try job(schedule).members where member.value != .integer(0) {
            summary[member.name] = member.value
        }
        if isAsked || !summary.members.isEmpty {
            writeAnswer(JSON.text(.object(summary)) + [UInt8(ascii: "\n")])
        }
    } catch {
        log.failure(error)
        if case .later = error.disposition { ThisProcess.exit(111) }
        ThisProcess.exit(100)
    }
    ThisProcess.exit(0)
}

/// Answers whoever sent a request rather than a schedule's event, and exits.
///
/// - Returns: whether there was an event.
private func refuseRequests(_ log: Log) -> Bool {
    var input = Input(patience: .seconds(10))
    let front = Front.detected(by: &input)
    if front == .inetd, input.isEmpty { return false }
    do throws(Failure) {
        switch front {
        case .event: if try isScheduledEvent(input.readToEnd(limit: eventLimit)) { return true }
        case .watchdog:
            var request = RawRequest()
            try front.readWatchdog(&request, from: &input, bodyLimit: eventLimit)
            if try isTick(request) { return true }
        case .inetd: if input.pending.isEmpty { _ = try input.fill() }  // throws why nothing came
        case .cgi: break
        }
        throw .refused(.notFound, "this program is started by a schedule and answers no requests")
    } catch {
        log.failure(error)
        let response = Response(error, inside: false)
        let isWritten = front.write(response, withoutBody: false, after: &input)
        // An answer ends a request; whatever else came to nothing is the schedule's to try again.
        guard case .refused = error.disposition, isWritten else { ThisProcess.exit(111) }
        ThisProcess.exit(0)
    }
}

private let eventLimit = 64 * 1024

/// Whether a watchdog's request is a schedule's tick, as OpenFaaS' cron connector posts it.
private func isTick(_ request: RawRequest) throws(Failure) -> Bool {
    guard request.method == "POST", request.target == "/", case .bytes(let bytes) = request.body
    else { return false }
    if bytes.isEmpty { return true }
    return try isScheduledEvent(bytes)
}

/// Whether an event is a schedule's tick: `{}`, or EventBridge's (`detail-type`), or a CloudEvent that carries no
/// request.
private func isScheduledEvent(_ bytes: [UInt8]) throws(Failure) -> Bool {
    let event: JSONObject?
    do throws(JSONError) { event = try JSON.parse(bytes).object } catch {
        throw .malformed(error.sentence(about: "the event"))
    }
    guard let event else { return false }
    if CloudEvent.isOne(event) { return EventParts(event["data"]?.object ?? [:]).method == nil }
    return event.members.isEmpty || event["detail-type"]?.string == "Scheduled Event"
}
