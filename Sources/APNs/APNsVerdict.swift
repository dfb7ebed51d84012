import HTTP2
import JSON
import Turnstone

/// What became of a push, as the receipt shows it, and what follows from it.
package struct APNsVerdict: Equatable, Sendable {
    /// HTTP's status; `nil` where APNs gave no answer.
    package let status: Int?
    /// APNs' own reason, or why there was no answer; `nil` with an accepted push.
    package let reason: String?
    package let outcome: APNsOutcome
}

extension APNsVerdict {
    static func noAnswer(_ reason: String) -> APNsVerdict {
        APNsVerdict(status: nil, reason: reason, outcome: .noVerdict)
    }

    static func notSent(_ reason: String) -> APNsVerdict {
        APNsVerdict(status: nil, reason: reason, outcome: .notSent)
    }

    /// Reads an answer.
    ///
    /// APNs' `timestamp` comes in milliseconds; without one, as a broken answer could have it,
    /// nothing is known to be older than the answer itself.
    init(_ answer: ClientEvent.Answer, now: Timestamp) {
        status = answer.status
        if answer.status == 200 {
            reason = nil
            outcome = .accepted(uniqueID: answer.fields["apns-unique-id"])
            return
        }
        var members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(answer.body).object } catch {}
        let named = members?["reason"]?.string
        reason = named ?? "HTTP \(answer.status)"
        let outcome = APNsOutcome(
            status: answer.status, reason: named ?? "", timestamp: members?["timestamp"]?.timestamp,
            now: now)
        if case .later = outcome, let seconds = answer.fields["retry-after"].flatMap(Int64.init),
            (1...86_400).contains(seconds)
        {
            self.outcome = .laterAsAsked(pause: .seconds(seconds))
        } else {
            self.outcome = outcome
        }
    }
}

/// The pause before another attempt: doubled each time, and up to a quarter longer by chance, so that what failed together
/// does not come again together.
///
/// - Parameters:
///   - attempt: 1 after the first attempt.
///   - longest: up to which it is doubled.
///   - random: any byte.
package func backOff(
    _ pause: Interval, attempt: Int, longest: Interval = .hours(6), random: UInt8
) -> Interval {
    let longest = longest.milliseconds
    let doubled = min(longest, pause.milliseconds << Int64(min(max(attempt - 1, 0), 16)))
    return .milliseconds(doubled + doubled / 4 * Int64(random) / 255)
}
