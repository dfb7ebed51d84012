import Turnstone

/// Why nothing is pushed through a push service: it refuses this installation's credentials, or it cannot be
/// reached.
package struct DeliveryStop: Equatable, Sendable {
    /// The push service, such as `apns`.
    package let service: String
    /// The push service's reason, such as `InvalidProviderToken`, or why no connection can be made.
    package let reason: String
    package let since: Timestamp
    /// Nothing is tried before this moment while the settings stay the same; `nil` if each run tries.
    package let until: Timestamp?
    /// A fingerprint of the refused settings.
    package let settings: String

    /// The longest pause of a stop: APNs accepts a new provider token every 20 minutes.
    private static let longest = Interval.minutes(20)

    package init(
        service: String, reason: String, since: Timestamp, until: Timestamp?, settings: String
    ) {
        self.service = service
        self.reason = reason
        self.since = since
        self.until = until
        self.settings = settings
    }

    /// Whether nothing may be tried with these settings yet.
    package func holds(for settings: String, at now: Timestamp) -> Bool {
        guard let until, self.settings == settings else { return false }
        // A clock that was set back must not prolong the stop.
        return now < until && until - now <= Self.longest && since <= now + .minutes(1)
    }
}
