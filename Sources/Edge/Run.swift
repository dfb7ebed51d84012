import JSON
import Turnstone
import Unix

/// Runs a scheduled program's job, prints its summary as one line of JSON without zeros, and exits: 0, 111 if
/// it may work later, 100 if it will fail again until somebody acts. If a timer started it and there was no
/// work, it prints nothing.
///
/// Standard input is empty, `{}`, or a scheduler's event, which a watchdog may post to `/`. A request gets
/// 404, as from a path without a program.
///
/// - Parameter purpose: what the program does, for `--help`.
@export(interface)
package func run(
    _ purpose: String, _ job: (Schedule) throws(Failure) -> JSONObject
) -> Never {
    ThisProcess.begin()
    Usage(scheduled: purpose).answerArguments()
    let log = Log()
    let hasEvent = refuseRequests(log)
    do throws(Failure) {
        let variables = try Environment.variables()
        try becomeOwner(ofStateIn: variables, log)
        let schedule = Schedule(
            time: try Environment.now(variables), variables: variables, log: log)
        var summary = JSONObject()
        for member in try job(schedule).members where member.value != .integer(0) {
            summary[member.name] = member.value
        }
        if hasEvent || !summary.members.isEmpty {
            writeAnswer(JSON.text(.object(summary)) + [UInt8(ascii: "\n")])
        }
    } catch {
        log.failure(error)
        if case .later = error.disposition { ThisProcess.exit(111) }
        ThisProcess.exit(100)
    }
    ThisProcess.exit(0)
}

/// Reads standard input. If it holds a request instead of a scheduler's event, answers it and exits.
///
/// - Returns: whether there was an event.
private func refuseRequests(_ log: Log) -> Bool {
    var input = Input()
    let invocation = Invocation.detected(by: &input)
    if invocation == .inetd, input.isEmpty { return false }
    do throws(Failure) {
        switch invocation {
        case .event:
            if try isScheduledEvent(input.readToEnd(limit: BodyLimit.usual, "event")) {
                return true
            }
        case .watchdog:
            var request = RawRequest()
            try invocation.readWatchdog(&request, from: &input, bodyLimit: BodyLimit.usual)
            if try isTick(request) { return true }
        case .inetd: if input.pending.isEmpty { _ = try input.fill() }  // throws why nothing came
        case .cgi: break
        }
        throw .refused(.notFound, "this program is started by a schedule and answers no requests")
    } catch {
        log.failure(error)
        let response = Response(error, in: .plain)
        let isWritten = invocation.write(response, withoutBody: false, after: &input)
        // An answered request is done. After any other failure, the scheduler should try again.
        guard case .refused = error.disposition, isWritten else { ThisProcess.exit(111) }
        ThisProcess.exit(0)
    }
}

/// Whether a watchdog's request is a scheduler's tick, as OpenFaaS' cron connector posts it.
private func isTick(_ request: RawRequest) throws(Failure) -> Bool {
    guard request.method == "POST", request.target == "/", case .bytes(let bytes) = request.body
    else { return false }
    if bytes.isEmpty { return true }
    return try isScheduledEvent(bytes)
}

/// Whether an event is a scheduler's tick: `{}`, EventBridge's (`detail-type`), or a CloudEvent that carries
/// no request.
private func isScheduledEvent(_ bytes: [UInt8]) throws(Failure) -> Bool {
    let event: JSONObject?
    do throws(JSONError) { event = try JSON.parse(bytes).object } catch {
        throw .malformed(error.sentence(about: "the event"))
    }
    guard let event else { return false }
    if CloudEvent.isOne(event) { return EventParts(event["data"]?.object ?? [:]).method == nil }
    return event.members.isEmpty || event["detail-type"]?.string == "Scheduled Event"
}
