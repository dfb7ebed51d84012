import Turnstone

/// How many pushes of one push service ended how, in an hour or another time.
package struct PushCounts: Equatable, Sendable {
    /// By outcome, in the order of ``Outcome/all``.
    package var outcomes = [Int](repeating: 0, count: Outcome.all.count)
    /// Attempts that were put off, to be made again.
    package var retries = 0
    /// How often each reason was given, with the outcome that it led to; `retry` if the push was put off.
    package private(set) var reasons: [Reason] = []
    /// How long accepted pushes took, since they could be sent.
    package var delays = DelayCounts()
    /// How long accepted turn notices took, since the newest move that they were queued for.
    package var moveDelays = DelayCounts()

    package struct Reason: Equatable, Sendable {
        package let outcome: String
        package let reason: String
        package var count: Int
    }

    /// Push services have a few dozen reasons.
    private static let mostReasons = 64

    package init() {}

    package subscript(outcome: Outcome) -> Int {
        Outcome.all.firstIndex(of: outcome).map { outcomes[$0] } ?? 0
    }

    mutating func count(_ reason: String, of outcome: String, _ times: Int = 1) {
        if let place = reasons.firstIndex(where: { $0.outcome == outcome && $0.reason == reason }) {
            reasons[place].count += times
        } else if reasons.count < Self.mostReasons {
            reasons.append(Reason(outcome: outcome, reason: reason, count: times))
        } else if reason != "other" {
            count("other", of: outcome, times)
        }
    }

    package static func += (sum: inout PushCounts, other: PushCounts) {
        for place in sum.outcomes.indices { sum.outcomes[place] += other.outcomes[place] }
        sum.retries += other.retries
        for reason in other.reasons { sum.count(reason.reason, of: reason.outcome, reason.count) }
        sum.delays += other.delays
        sum.moveDelays += other.moveDelays
    }
}

/// How many delays are in each of some ranges.
package struct DelayCounts: Equatable, Sendable {
    /// The upper ends of the ranges. Longer delays are in a last range.
    package static let bounds: [Interval] = [
        .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30),
        .minutes(1), .minutes(2), .minutes(5), .minutes(15), .hours(1), .hours(6), .hours(24),
    ]

    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)

    package var sum: Int { counts.reduce(0, +) }

    mutating func count(_ delay: Interval) {
        let place = Self.bounds.firstIndex { delay <= $0 } ?? Self.bounds.count
        counts[place] += 1
    }

    /// The range's upper end that a share of the delays does not exceed; `nil` if there are none, or if it is
    /// in the last range.
    @export(interface)
    package func bound(of percent: Int) -> Interval? {
        // In two parts, because a damaged file may have counts of any size.
        let needed = sum / 100 * percent + (sum % 100 * percent + 99) / 100
        guard needed > 0 else { return nil }
        var seen = 0
        for (place, bound) in Self.bounds.enumerated() {
            seen += counts[place]
            if seen >= needed { return bound }
        }
        return nil
    }

    static func += (sum: inout DelayCounts, other: DelayCounts) {
        for place in sum.counts.indices { sum.counts[place] += other.counts[place] }
    }
}

// MARK: As they are stored

extension PushCounts {
    var json: JSONObject {
        var byOutcome = JSONObject()
        for (place, outcome) in Outcome.all.enumerated() where outcomes[place] > 0 {
            byOutcome.append(outcome.rawValue, .integer(Int64(outcomes[place])))
        }
        return [
            "outcomes": .object(byOutcome), "retries": .integer(Int64(retries)),
            "reasons": .array(
                reasons.map {
                    [
                        "outcome": .string($0.outcome), "reason": .string($0.reason),
                        "count": .integer(Int64($0.count)),
                    ]
                }),
            "delays": delays.json, "move_delays": moveDelays.json,
        ]
    }

    init?(_ members: JSONObject) {
        guard let byOutcome = members["outcomes"]?.object, let retries = members["retries"]?.count,
            let reasons = members["reasons"]?.array,
            let delays = members["delays"].flatMap(DelayCounts.init),
            let moveDelays = members["move_delays"].flatMap(DelayCounts.init)
        else { return nil }
        for (place, outcome) in Outcome.all.enumerated() {
            outcomes[place] = Int(byOutcome[outcome.rawValue]?.count ?? 0)
        }
        self.retries = Int(retries)
        for reason in reasons {
            guard let reason = reason.object, let outcome = reason["outcome"]?.string,
                let text = reason["reason"]?.string, let times = reason["count"]?.count
            else { return nil }
            count(text, of: outcome, Int(times))
        }
        self.delays = delays
        self.moveDelays = moveDelays
    }
}

extension DelayCounts {
    var json: JSONValue { .array(counts.map { .integer(Int64($0)) }) }

    init?(_ json: JSONValue) {
        guard let counts = json.array?.compactMap({ $0.count }), counts.count == self.counts.count
        else { return nil }
        self.counts = counts.map { Int($0) }
    }
}
