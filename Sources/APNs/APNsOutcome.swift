import Turnstone

/// The consequence of a push's verdict.
package enum APNsOutcome: Equatable, Sendable {
    /// APNs accepted the push. In development, `uniqueID` finds it in the delivery log of Apple's console.
    case accepted(uniqueID: String?)
    /// The token was no longer valid at `since`. A registration after that is valid again.
    case gone(since: Timestamp)
    /// APNs will never accept this push as it is. The device may be fine.
    case refused
    /// `BadDeviceToken`: the token is invalid, or belongs to the other environment.
    case quarantined
    /// APNs may accept the same push later. The first retry is after `pause`, the next ones as in
    /// ``backOff(_:attempt:longest:random:)``.
    case later(pause: Interval)
    /// APNs may accept the same push after the pause that it asked for (`retry-after`), which does not grow.
    case laterAsAsked(pause: Interval)
    /// APNs accepts nothing with this key, topic or certificate until an operator fixes it.
    case stopQueue
    /// The provider token has expired. The gateway renews it and sends the push again. If that fails, the
    /// caller gets ``notSent``.
    case renewToken
    /// It is unknown whether APNs accepted the push. Send it again with the same `apns-id`.
    case noVerdict
    /// APNs has certainly not processed the push. This does not count as an attempt.
    case notSent
}

extension APNsOutcome {
    /// Derives the outcome from the reason, or from the status if the reason is unknown.
    ///
    /// Apple: *Handling notification responses from APNs*.
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
        case "TooManyProviderTokenUpdates": self = .later(pause: ProviderToken.renewalPause)
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
