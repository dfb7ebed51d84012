import HTTP2
import JSON
import Turnstone

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
