import Documents
import Edge
import Health
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// The answer of `GET /api/status`. Each part is read for a limited time and on its own: one that cannot be
/// read leaves the others.
struct Overview {
    private let request: Request
    private var now: Timestamp { request.time }

    /// How long each part may take at most.
    private static let queueTime = Interval.milliseconds(500)
    private static let pushTime = Interval.milliseconds(1500)
    private static let deviceTime = Interval.milliseconds(500)

    init(_ request: Request) { self.request = request }

    func answer() throws(Failure) -> JSONObject {
        var answer: JSONObject = ["success": true, "at": .string(CalendarDate(now).text)]
        let state: State
        do throws(Failure) { state = try State(request.variables) } catch {
            Log().failure(error)
            let problem = Problem(stateFault: error, of: request.variables.stateFolder)
            answer["ready"] = false
            answer["problems"] = [.object(problem.members)]
            answer["unavailable"] = ["cycles", "queues", "pushes", "devices"]
            return answer
        }
        let problems = Examination(state, request).problems()
        answer["ready"] = .bool(problems.isEmpty)
        answer["problems"] = .array(problems.map { .object($0.members) })
        let spools = state.spools
        var unavailable: [String] = []
        for (name, part) in parts(state, spools) {
            do throws(Failure) { answer[name] = try part() } catch {
                Log().failure(error)
                unavailable.append(name)
            }
        }
        if !unavailable.isEmpty { answer["unavailable"] = JSONValue(texts: unavailable) }
        return answer
    }

    private typealias Part = () throws(Failure) -> JSONValue

    private func parts(_ state: State, _ spools: Spools) -> [(String, Part)] {
        [
            ("cycles", { () throws(Failure) in try cycles(state) }),
            ("queues", { () throws(Failure) in try queues(state, spools) }),
            ("pushes", { () throws(Failure) in try pushes(spools) }),
            ("devices", { () throws(Failure) in try devices(state) }),
        ]
    }

    // MARK: Cycles

    private func cycles(_ state: State) throws(Failure) -> JSONValue {
        var members: JSONObject = [
            "intervalSeconds": .integer(try state.checkInterval(request.variables).seconds)
        ]
        members["lastAt"] = try state.lastCycle().map { .string(CalendarDate($0).text) }
        members["unansweredSince"] = try state.unansweredSince().map {
            .string(CalendarDate($0).text)
        }
        members["last"] = .array(
            try state.lastCycles().reversed().map { cycle in
                var shown: JSONObject = [
                    "at": cycle["at"]?.timestamp.map { .string(CalendarDate($0).text) } ?? .null,
                    "milliseconds": .integer(cycle["took"]?.count ?? 0),
                ]
                for name in ["due", "looked", "unchanged", "notices", "failed"] {
                    shown.append(name, .integer(cycle[name]?.count ?? 0))
                }
                shown.append("putOff", .integer(cycle["put_off"]?.count ?? 0))
                return .object(shown)
            })
        return .object(members)
    }

    // MARK: Queues

    private func queues(_ state: State, _ spools: Spools) throws(Failure) -> JSONValue {
        let stops = try state.deliveryStops()
        let failures = try state.deliveryFailures()
        let refusals = try state.refusals()
        let end = Instant.now + Self.queueTime
        var queues: [JSONValue] = []
        for spool in try spools.all() {
            let name = spool.service.rawValue
            let length = try spool.length(until: end)
            var queue: JSONObject = [
                "queue": .string(spool.queue.text), "service": .string(name),
                "complete": .bool(length.isComplete),
                "urgent": .integer(Int64(length.urgent)), "normal": .integer(Int64(length.normal)),
                "backlog": .integer(Int64(length.backlog)), "bulk": .integer(Int64(length.bulk)),
                "putOff": .integer(Int64(length.putOff)),
                "scheduled": .integer(Int64(length.scheduled)),
                "held": .integer(Int64(length.held)), "failed": .integer(Int64(length.failed)),
                "draining": .bool(try spool.isBeingDrained()),
            ]
            queue["oldestAt"] = try spool.oldestDue(at: now).map { .string(CalendarDate($0).text) }
            queue["nextAt"] = try spool.nextDue(at: now).map { .string(CalendarDate($0).text) }
            if let stop = stops.first(where: { $0.service == name }) {
                var members: JSONObject = [
                    "reason": .string(stop.reason), "since": .string(CalendarDate(stop.since).text),
                ]
                members["until"] = stop.until.map { .string(CalendarDate($0).text) }
                queue["stopped"] = .object(members)
            }
            if let failure = failures.first(where: { $0.service == name }) {
                queue["failing"] = [
                    "reason": .string(failure.reason),
                    "since": .string(CalendarDate(failure.since).text),
                ]
            }
            // That it accepts no push is worse than that some devices are kept.
            let own = refusals.filter { $0.service == name }
            if let refused = own.first(where: { !$0.areKept }) ?? own.first {
                queue["refusing"] = [
                    "reason": .string(refused.reason),
                    "since": .string(CalendarDate(refused.since).text),
                    "users": .integer(Int64(refused.users)),
                ]
            }
            queues.append(.object(queue))
        }
        return .array(queues)
    }

    // MARK: Pushes

    private func pushes(_ spools: Spools) throws(Failure) -> JSONValue {
        let statistics = try spools.statistics(at: now, until: .now + Self.pushTime)
        for failure in statistics.unread {
            Log().failure(failure)
            failure.recordFile()
        }
        return PushReport(statistics, at: now).json
    }

    // MARK: Devices

    private func devices(_ state: State) throws(Failure) -> JSONValue {
        let end = Instant.now + Self.deviceTime
        let found = try state.countDevices(
            listingUntil: end + Self.deviceTime, readingUntil: end)
        return [
            "users": .integer(Int64(found.users)), "estimate": .bool(found.isEstimate),
            "sample": .integer(Int64(found.sample)),
            "kinds": .array(
                found.kinds.map { kind in
                    [
                        "platform": .string(kind.platform.rawValue),
                        "type": .string(kind.type), "count": .integer(Int64(kind.count)),
                        "quarantined": .integer(Int64(kind.quarantined)),
                        "disabled": .integer(Int64(kind.disabled)),
                    ]
                }),
        ]
    }
}
