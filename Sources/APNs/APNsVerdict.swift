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

/// What follows from a push's verdict.
package enum APNsOutcome: Equatable, Sendable {
    /// APNs took it. `uniqueID` finds it in the delivery log of Apple's console (development only).
    case accepted(uniqueID: String?)
    /// The device is no longer there, as far as APNs knew at `since`; later registrations count.
    case gone(since: Timestamp)
    /// APNs will never take this push as it is, and says nothing about the device.
    case refused
    /// `BadDeviceToken`: no token, or one of the other environment.
    case quarantined
    /// The same push may be taken later, the first time after `pause`; see ``backOff(_:attempt:longest:random:)``.
    case later(pause: Interval)
    /// The same push may be taken after a pause that the service has named (`retry-after`): it does not grow.
    case laterAsAsked(pause: Interval)
    /// Nothing that is sent with this key, topic or certificate will be taken until somebody mends it.
    case stopQueue
    /// The provider token is too old. The gateway renews it by itself, so that callers only ever see
    /// ``notSent`` of it.
    case renewToken
    /// Nobody knows whether APNs took it: to be sent again, with the same `apns-id`.
    case noVerdict
    /// APNs has certainly not seen it: nothing was tried.
    case notSent
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

extension APNsOutcome {
    /// Apple: *Handling notification responses from APNs*.
    ///
    /// A reason decides, or for one that is not known the status.
    package init(status: Int, reason: String, timestamp: Timestamp?, now: Timestamp) {
        switch reason {
        case "BadDeviceToken": self = .quarantined
        case "Unregistered", "ExpiredToken": self = .gone(since: timestamp ?? now)
        case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
            "DuplicateHeaders", "PayloadEmpty", "PayloadTooLarge", "DeviceTokenNotForTopic",
            "MissingDeviceToken", "BadPath", "MethodNotAllowed":
            self = .refused
        case "BadChannelId", "ChannelNotRegistered", "MissingChannelId", "MissingPushType",
            "TopicMismatch", "FeatureNotEnabled", "BroadcastFeatureNotEnabled":
            self = .refused
        case "BadTopic", "MissingTopic", "TopicDisallowed", "InvalidProviderToken",
            "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken",
            "BadCertificate", "BadCertificateEnvironment", "Forbidden":
            self = .stopQueue
        case "ExpiredProviderToken": self = .renewToken
        case "TooManyProviderTokenUpdates": self = .later(pause: .minutes(20))
        case "TooManyRequests": self = .later(pause: .seconds(10))
        case "IdleTimeout", "Shutdown": self = .later(pause: .seconds(1))
        case "InternalServerError", "ServiceUnavailable": self = .later(pause: .minutes(15))
        default: self = .unknown(status: status, timestamp: timestamp, now: now)
        }
    }

    private static func unknown(status: Int, timestamp: Timestamp?, now: Timestamp) -> APNsOutcome {
        switch status {
        case 200: .accepted(uniqueID: nil)
        case 401, 403: .stopQueue
        case 410: .gone(since: timestamp ?? now)
        case 429: .later(pause: .seconds(10))
        case 400...499: .refused
        default: .later(pause: .minutes(15))
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
