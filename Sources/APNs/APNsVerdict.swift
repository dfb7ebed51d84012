import HTTP2
import JSON
import Turnstone

/// The result of a push: the part that its receipt shows, and the outcome.
package struct APNsVerdict: Equatable, Sendable {
    /// The HTTP status; `nil` if APNs gave no answer.
    package let status: Int?
    /// The reason that APNs gave, or why there is no answer; `nil` for an accepted push.
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
    /// - Parameter now: the time since when the device is gone, if the answer has no `timestamp` (in
    ///   milliseconds since 1970).
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
