import Spool
import Turnstone

/// The counts of pushes of the last day by hours, and of the last month by days.
struct PushReport {
    private let statistics: PushStatistics
    private let now: Timestamp

    init(_ statistics: PushStatistics, at now: Timestamp) {
        self.statistics = statistics
        self.now = now
    }

    var json: JSONValue {
        let isComplete = statistics.uncounted == 0 && statistics.unread.isEmpty
        var members: JSONObject = ["complete": .bool(isComplete)]
        if statistics.uncounted > 0 {
            members["bytesNotCounted"] = .integer(Int64(statistics.uncounted))
        }
        members["day"] = report(steps: 24, of: .hours(1))
        members["month"] = report(steps: 30, of: .days(1))
        return .object(members)
    }

    /// The steps that end with the present one, oldest first, each for all push services, and their sums.
    private func report(steps: Int, of length: Interval) -> JSONValue {
        let last = now.floor(to: length)
        let first = last - length * Int64(steps - 1)
        var services: [(service: PushService, sum: PushCounts)] = []
        var all = [PushCounts](repeating: PushCounts(), count: steps)
        var total = PushCounts()
        for hour in statistics.hours {
            // A damaged file of counts may name any moment.
            guard hour.start >= first, hour.start < last + length else { continue }
            all[Int((hour.start - first).milliseconds / length.milliseconds)] += hour.counts
            total += hour.counts
            if let known = services.firstIndex(where: { $0.service == hour.service }) {
                services[known].sum += hour.counts
            } else {
                services.append((hour.service, hour.counts))
            }
        }
        let rows = all.enumerated().map { (place, counts) in
            let start = first + length * Int64(place)
            var row: JSONObject = ["from": .string(CalendarDate(start).text)]
            for member in short(counts).members { row.append(member.name, member.value) }
            return JSONValue.object(row)
        }
        return [
            "from": .string(CalendarDate(first).text),
            "total": .object(long(total)),
            "services": .array(
                services.sorted { $0.service.rawValue < $1.service.rawValue }.map {
                    var row: JSONObject = ["service": .string($0.service.rawValue)]
                    for member in long($0.sum).members { row.append(member.name, member.value) }
                    return .object(row)
                }),
            "steps": .array(rows),
        ]
    }

    private func short(_ counts: PushCounts) -> JSONObject {
        var members: JSONObject = [
            "accepted": .integer(Int64(counts[.accepted])),
            "failed": .integer(Int64(Self.failures.reduce(0) { $0 + counts[$1] })),
            "dropped": .integer(Int64(Self.drops.reduce(0) { $0 + counts[$1] })),
            "retries": .integer(Int64(counts.retries)),
        ]
        members["medianDelay"] = counts.delays.bound(of: 50).map { .integer($0.milliseconds) }
        members["slowDelay"] = counts.delays.bound(of: 95).map { .integer($0.milliseconds) }
        members["medianSinceMove"] = counts.moveDelays.bound(of: 50).map {
            .integer($0.milliseconds)
        }
        members["slowSinceMove"] = counts.moveDelays.bound(of: 95).map { .integer($0.milliseconds) }
        return members
    }

    /// Those that did not reach a device although they should.
    private static let failures = [Outcome.refused, .gone, .quarantined, .expired, .damaged]
    /// Those that were not sent for a good reason.
    private static let drops = [Outcome.superseded, .cancelled]

    private func long(_ counts: PushCounts) -> JSONObject {
        var members = short(counts)
        var outcomes = JSONObject()
        for outcome in Outcome.all where counts[outcome] > 0 {
            outcomes.append(outcome.rawValue, .integer(Int64(counts[outcome])))
        }
        members["outcomes"] = .object(outcomes)
        members["reasons"] = .array(
            counts.reasons.sorted { $0.count > $1.count }.map {
                [
                    "outcome": .string($0.outcome), "reason": .string($0.reason),
                    "count": .integer(Int64($0.count)),
                ]
            })
        members["delays"] = histogram(counts.delays)
        members["sinceMove"] = histogram(counts.moveDelays)
        return members
    }

    /// The last range has no end.
    private func histogram(_ delays: DelayCounts) -> JSONValue {
        .array(
            delays.counts.enumerated().map { (place, count) in
                var range = JSONObject()
                if place < DelayCounts.bounds.count {
                    range["upTo"] = .integer(DelayCounts.bounds[place].milliseconds)
                }
                range["count"] = .integer(Int64(count))
                return .object(range)
            })
    }
}
